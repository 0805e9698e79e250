// RUN: commsched-opt %s --commsched-compile-regions > %t.once
// RUN: %orders < %t.once | FileCheck %s
// RUN: commsched-opt %t.once --commsched-compile-regions \
// RUN:   --remarks-filter=commsched 2> %t.remarks | diff %t.once -
// RUN: FileCheck %s --check-prefix=TWICE < %t.remarks
// TWICE: NoMarkedRegions
// TWICE-NOT: remark: [

// A chain is one set, and the pipeline runs on it alone.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: // order: call math.exp math.exp{{$}}
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: // order: math.exp arith.addf math.sqrt{{$}}
func.func @chain(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %1 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %2 = arith.addf %0, %1 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %3 = math.sqrt %2 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %4 = math.exp %3 : tensor<4xf32>
  %5 = math.exp %3 : tensor<4xf32>
  return %2, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What nothing joins comes together as well, behind all that it needs. A symbol
// that is taken is none of the numbers.

// CHECK-LABEL: func.func @apart
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: // order: math.exp call math.exp{{$}}
// CHECK-LABEL: func.func private @__marked_region_2
// CHECK-NEXT: // order: math.tanh math.cos{{$}}
// CHECK-LABEL: func.func private @__marked_region_1
// CHECK: math.exp {{.*}}commsched.compile_with
func.func @apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = math.tanh %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = math.exp %x : tensor<4xf32>
  %3 = math.cos %2 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
func.func private @__marked_region_1(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Nested modules have symbols of their own; numbers still go on.

// CHECK-LABEL: module @inner
// CHECK: call @__marked_region_3
// CHECK: func.func private @__marked_region_3
// CHECK: math.exp
module @inner {
  func.func private @declared(tensor<4xf32>)
      attributes {commsched.compile_with = {pipeline = "cse"}}
  func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
