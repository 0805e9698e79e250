// A mark without a pipeline forms a region all the same. What marks ask of
// other compilers is named, each value of a setting once: at the first
// operation that has it, in the function that the user wrote.
// RUN: commsched-opt %s --commsched-compile-regions --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=RegionSettingIgnored

// CHECK: settings.mlir:[[#@LINE+17]]:{{.*}}RegionSettingIgnored {{.*}}Function=settings {{.*}}the setting inductor_configs.max_autotune = True of the region 'a' is left out: a region is compiled by its 'pipeline'
// CHECK: settings.mlir:[[#@LINE+17]]:{{.*}}RegionSettingIgnored {{.*}}Function=settings {{.*}}the setting inductor_configs.max_autotune = False of the region 'a' is left out
// CHECK: settings.mlir:[[#@LINE+16]]:{{.*}}RegionSettingIgnored {{.*}}Function=settings {{.*}}the setting priority = high of the region 'a' is left out
// CHECK: settings.mlir:[[#@LINE+24]]:{{.*}}RegionSettingIgnored {{.*}}Function=other {{.*}}the setting why = later of the region 'a' is left out
// CHECK: settings.mlir:[[#@LINE+17]]:{{.*}}RegionSettingIgnored {{.*}}Function=settings {{.*}}the setting why = before of the region without a name is left out
// CHECK-DAG: RegionOutlined{{.*}}2 operation(s) of the region 'a' are @__marked_region_0, without a pipeline
// CHECK-DAG: RegionOutlined{{.*}}2 operation(s) of the region without a name are @__marked_region_1, compiled by 'cse'
// CHECK-DAG: RegionOutlined{{.*}}1 operation(s) of the region 'a' are @__marked_region_2, without a pipeline

// CHECK-LABEL: func.func @settings
// CHECK-NEXT: %[[A:.*]] = call @__marked_region_0
// CHECK-NEXT: %[[B:.*]] = call @__marked_region_1(%[[A]])
// CHECK-NEXT: return %[[B]]
// CHECK: func.func private @__marked_region_0
// CHECK-NOT: commsched.compile_with
// CHECK: func.func private @__marked_region_1
func.func @settings(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x {commsched.compile_with = {region = "a", settings = {inductor_configs.max_autotune = "True"}}} : tensor<4xf32>
  %1 = math.sin %0 {commsched.compile_with = {region = "a", settings = {inductor_configs.max_autotune = "False", priority = "high"}}} : tensor<4xf32>
  // The pipeline may stand at any operation of the region, and settings at
  // another one.
  %2 = math.exp %1 {commsched.compile_with = {settings = {why = "before"}}} : tensor<4xf32>
  %3 = math.sin %2 {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
  return %3 : tensor<4xf32>
}

func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x {commsched.compile_with = {region = "a", settings = {priority = "high", why = "later"}}} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
