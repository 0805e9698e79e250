// DEFINE: %{options} =
// DEFINE: %{dump} = commsched-opt %s --commsched-pipeline="%{options}" \
// DEFINE:   --dump-pass-pipeline -o /dev/null 2>&1
// DEFINE: %{schedule} = commsched-opt %s \
// DEFINE:   --commsched-report="format=json output=%t.before" \
// DEFINE:   --commsched-pipeline="%{options}" \
// DEFINE:   --commsched-report="format=json output=%t.after"
// DEFINE: %{check-steps} = \
// DEFINE:   %python %S/Inputs/check_step_times.py %t.before %t.after

// RUN: %{dump} | FileCheck %s --check-prefixes=PASSES,DEFAULTS
// RUN: %{schedule} > %t
// RUN: FileCheck %s --check-prefixes=CHECK,COPIED < %t
// RUN: %{check-steps}
// REDEFINE: %{options} = bitwise
// RUN: %{schedule} | FileCheck %s --check-prefixes=CHECK
// RUN: %{check-steps}
// REDEFINE: %{options} = memory-budget=276000000
// RUN: %{schedule} | FileCheck %s --check-prefix=BUDGETED
// RUN: %{check-steps}
// REDEFINE: %{options} = memory-budget=1000
// RUN: %{schedule} | FileCheck %s --check-prefix=EXCEEDED
// RUN: %{check-steps}

// What the pipeline consists of, and which of its options become what.
// REDEFINE: %{options} = bitwise buckets=off compute-slowdown=0.5 exclusive-groups frontier=%t.csv link-sharing max-chunks=4 memory-budget=7%% mode=coalesced slack=7 split=off strict profile=%src/data/cost-tables/h100-8gpu-xla.json target=b200
// RUN: %{dump} | FileCheck %s --check-prefixes=PASSES,OPTIONS

//      OPTIONS: commsched-set-costs{assume-fusion=false compute-slowdown={{5.*}} exclusive-groups=true link-sharing=true profile={{.+}}.json slack=7 target=b200},
// DEFAULTS:      test-commsched-callees-first{pipelines={func.func(
//  OPTIONS-NEXT: func.func(
// DEFAULTS-SAME:   test-commsched-infer-size-hints,
//  OPTIONS-NEXT:   test-commsched-infer-size-hints,
// DEFAULTS-SAME:   commsched-remove-unsharded-param-usage,
//  OPTIONS-NEXT:   commsched-remove-unsharded-param-usage,
// DEFAULTS-SAME:   commsched-reinplace-all-gather,
//  OPTIONS-NEXT:   commsched-reinplace-all-gather
//  OPTIONS-NEXT: ),
//  OPTIONS-NEXT: commsched-frontier{
//  OPTIONS-SAME:   bitwise=true buckets=off file={{.+}}.csv max-chunks=4 memory-budget=7% mode=coalesced split=off
//  OPTIONS-NEXT: test-commsched-callees-first{pipelines={func.func(
//  PASSES-SAME:   commsched-pipeline-loops{
// DEFAULTS-SAME:   memory-budget=5% merge-gathers=true
//  OPTIONS-SAME:   memory-budget=7% merge-gathers=true
//  PASSES-SAME:   commsched-schedule{
// DEFAULTS-SAME:   allocator=pytorch bitwise=false buckets=auto budget-on=live max-chunks=8 memory-budget=5% mode=auto reserved-bytes=0 split=auto strict=false
//  OPTIONS-SAME:   allocator={{.*}}bitwise=true buckets=off budget-on=live max-chunks=4 memory-budget=7% mode=coalesced reserved-bytes=0 split=off strict=true
//  PASSES-SAME:   test-commsched-choose-implementations{
// DEFAULTS-SAME:   memory-budget=5%
//  OPTIONS-SAME:   memory-budget=7%

// It runs by its name in a pipeline as well.
// RUN: commsched-opt %s --pass-pipeline='builtin.module(commsched-pipeline{memory-budget=5%})' \
// RUN:   | diff %t -

// Options that make no sense.
// REDEFINE: %{options} = memory-budget=-5
// RUN: not %{dump} | FileCheck %s --check-prefix=BAD-BUDGET
// BAD-BUDGET: error: option 'memory-budget' of pass 'commsched-pipeline-loops' must not be negative, but is '-5'
// REDEFINE: %{options} = profile=%t.missing
// RUN: not %{dump} | FileCheck %s --check-prefix=BAD-PROFILE
// BAD-PROFILE: error: option 'profile' of pass 'commsched-set-costs' cannot be used: {{.*}}.missing
// REDEFINE: %{options} = frontier=%t.missing/frontier.csv
// RUN: not %{dump} | FileCheck %s --check-prefix=BAD-FRONTIER
// BAD-FRONTIER: error: cannot write the frontier to {{.*}}.missing/frontier.csv

// What it makes of a step.

!x = tensor<4xf32>
!shard = tensor<65536xf32>
!whole = tensor<131072xf32>

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.nvls" = 0, "commsched.intra_channels" = 1>>} {

commsched.group @g size(2)

// Messages take their time: four in a row take longer than a layer, so that the
// layers wait for them, and one for all four a third of it. Each block is one
// bucket, hidden behind the other block. One for both blocks would keep the first
// waiting for what the second needs. Copies pay where nothing hides the bucket: at
// the beginning and at the end.
// CHECK-LABEL: func.func @step(
// CHECK-NEXT: commsched.all_gather_copy_in
// CHECK-NEXT: commsched.all_gather {{.*}}"p00+p01+p02+p03"
// CHECK-NEXT: commsched.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} on {{.*}}"p10+p11+p12+p13"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.split_with_sizes_copy
// CHECK-NEXT: "layer"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "layer"
// CHECK-NEXT: "gradient"
// CHECK-NEXT: commsched.reduce_scatter {{.*}}"d10+d11+d12+d13"
// CHECK-NEXT: "gradient"
// COPIED-NEXT: commsched.chunk_cat
// CHECK-NEXT: commsched.reduce_scatter {{.*}}"d00+d01+d02+d03"
// CHECK: commsched.wait
// CHECK: commsched.wait
// CHECK-NOT: commsched.wait
// CHECK: return

// Here there is the memory for both gathered blocks, but not for copies of them.
// BUDGETED-LABEL: func.func @step(
//  BUDGETED-NOT: copy_in
//      BUDGETED: commsched.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} on {{.*}}"p00+p01+p02+p03"
// BUDGETED-NEXT: commsched.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} on {{.*}}"p10+p11+p12+p13"
// BUDGETED-NEXT: commsched.wait
// BUDGETED-NEXT: "layer"
// BUDGETED-NEXT: commsched.wait
//      BUDGETED: commsched.reduce_scatter {{.*}}"d10+d11+d12+d13"
//      BUDGETED: commsched.reduce_scatter {{.*}}"d00+d01+d02+d03"

// A budget that nothing keeps to: copies would take more than the program does.
// EXCEEDED-LABEL: func.func @step(
// EXCEEDED-NOT: {{copy_in|chunk_cat}}
// EXCEEDED: commsched.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} on {{.*}}"p00+p01+p02+p03"
// EXCEEDED-NOT: {{copy_in|chunk_cat}}
// EXCEEDED: commsched.reduce_scatter
// EXCEEDED-NOT: {{copy_in|chunk_cat}}
func.func @step(%x: !x, %state: tensor<67108864xf32>,
    %p00: !shard {commsched.role = "parameter"},
    %p01: !shard {commsched.role = "parameter"},
    %p02: !shard {commsched.role = "parameter"},
    %p03: !shard {commsched.role = "parameter"},
    %p10: !shard {commsched.role = "parameter"},
    %p11: !shard {commsched.role = "parameter"},
    %p12: !shard {commsched.role = "parameter"},
    %p13: !shard {commsched.role = "parameter"})
    -> (!shard, !shard, !shard, !shard, !shard, !shard, !shard, !shard) {
  %f00 = commsched.all_gather %p00 on @g dim(0)
      {commsched.name = "p00", commsched.module = "layers.0"}
      : !shard -> !commsched.future<!whole>
  %w00 = commsched.wait %f00 : !commsched.future<!whole>
  %f01 = commsched.all_gather %p01 on @g dim(0)
      {commsched.name = "p01", commsched.module = "layers.0"}
      : !shard -> !commsched.future<!whole>
  %w01 = commsched.wait %f01 : !commsched.future<!whole>
  %f02 = commsched.all_gather %p02 on @g dim(0)
      {commsched.name = "p02", commsched.module = "layers.0"}
      : !shard -> !commsched.future<!whole>
  %w02 = commsched.wait %f02 : !commsched.future<!whole>
  %f03 = commsched.all_gather %p03 on @g dim(0)
      {commsched.name = "p03", commsched.module = "layers.0"}
      : !shard -> !commsched.future<!whole>
  %w03 = commsched.wait %f03 : !commsched.future<!whole>
  %x0 = commsched.compute "layer"(%x, %w00, %w01, %w02, %w03)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100000}
      : (!x, !whole, !whole, !whole, !whole) -> !x
  %f10 = commsched.all_gather %p10 on @g dim(0)
      {commsched.name = "p10", commsched.module = "layers.1"}
      : !shard -> !commsched.future<!whole>
  %w10 = commsched.wait %f10 : !commsched.future<!whole>
  %f11 = commsched.all_gather %p11 on @g dim(0)
      {commsched.name = "p11", commsched.module = "layers.1"}
      : !shard -> !commsched.future<!whole>
  %w11 = commsched.wait %f11 : !commsched.future<!whole>
  %f12 = commsched.all_gather %p12 on @g dim(0)
      {commsched.name = "p12", commsched.module = "layers.1"}
      : !shard -> !commsched.future<!whole>
  %w12 = commsched.wait %f12 : !commsched.future<!whole>
  %f13 = commsched.all_gather %p13 on @g dim(0)
      {commsched.name = "p13", commsched.module = "layers.1"}
      : !shard -> !commsched.future<!whole>
  %w13 = commsched.wait %f13 : !commsched.future<!whole>
  %x1 = commsched.compute "layer"(%x0, %w10, %w11, %w12, %w13)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100000}
      : (!x, !whole, !whole, !whole, !whole) -> !x
  %d1:5 = commsched.compute "gradient"(%x1)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100000}
      : (!x) -> (!x, !whole, !whole, !whole, !whole)
  %r10 = commsched.reduce_scatter %d1#1 on @g reduction(avg) dim(0)
      {commsched.name = "d10", commsched.module = "layers.1"}
      : !whole -> !commsched.future<!shard>
  %s10 = commsched.wait %r10 : !commsched.future<!shard>
  %r11 = commsched.reduce_scatter %d1#2 on @g reduction(avg) dim(0)
      {commsched.name = "d11", commsched.module = "layers.1"}
      : !whole -> !commsched.future<!shard>
  %s11 = commsched.wait %r11 : !commsched.future<!shard>
  %r12 = commsched.reduce_scatter %d1#3 on @g reduction(avg) dim(0)
      {commsched.name = "d12", commsched.module = "layers.1"}
      : !whole -> !commsched.future<!shard>
  %s12 = commsched.wait %r12 : !commsched.future<!shard>
  %r13 = commsched.reduce_scatter %d1#4 on @g reduction(avg) dim(0)
      {commsched.name = "d13", commsched.module = "layers.1"}
      : !whole -> !commsched.future<!shard>
  %s13 = commsched.wait %r13 : !commsched.future<!shard>
  %d0:5 = commsched.compute "gradient"(%d1#0)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100000}
      : (!x) -> (!x, !whole, !whole, !whole, !whole)
  %r00 = commsched.reduce_scatter %d0#1 on @g reduction(avg) dim(0)
      {commsched.name = "d00", commsched.module = "layers.0"}
      : !whole -> !commsched.future<!shard>
  %s00 = commsched.wait %r00 : !commsched.future<!shard>
  %r01 = commsched.reduce_scatter %d0#2 on @g reduction(avg) dim(0)
      {commsched.name = "d01", commsched.module = "layers.0"}
      : !whole -> !commsched.future<!shard>
  %s01 = commsched.wait %r01 : !commsched.future<!shard>
  %r02 = commsched.reduce_scatter %d0#3 on @g reduction(avg) dim(0)
      {commsched.name = "d02", commsched.module = "layers.0"}
      : !whole -> !commsched.future<!shard>
  %s02 = commsched.wait %r02 : !commsched.future<!shard>
  %r03 = commsched.reduce_scatter %d0#4 on @g reduction(avg) dim(0)
      {commsched.name = "d03", commsched.module = "layers.0"}
      : !whole -> !commsched.future<!shard>
  %s03 = commsched.wait %r03 : !commsched.future<!shard>
  return %s00, %s01, %s02, %s03, %s10, %s11, %s12, %s13
      : !shard, !shard, !shard, !shard, !shard, !shard, !shard, !shard
}
}
