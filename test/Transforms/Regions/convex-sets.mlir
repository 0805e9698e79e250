// RUN: commsched-opt %s --commsched-compile-regions > %t.once
// RUN: FileCheck %s -enable-var-scope < %t.once
// RUN: commsched-opt %t.once --commsched-compile-regions \
// RUN:   --remarks-filter=commsched 2> %t.remarks | diff %t.once -
// RUN: FileCheck %s --check-prefix=TWICE < %t.remarks
// TWICE: NoMarkedRegions
// TWICE-NOT: remark: [

// A chain is one set, and the pipeline runs on it alone.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]]:2 = call @__marked_region_0(%[[X]])
// CHECK-NEXT: %[[Z:.*]] = math.exp %[[Y]]#1
// CHECK-NEXT: %[[W:.*]] = math.exp %[[Y]]#1
// CHECK-NEXT: return %[[Y]]#0, %[[Z]], %[[W]]
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: %[[A:.*]] = math.exp %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = arith.addf %[[A]], %[[A]] : tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = math.sqrt %[[B]] : tensor<4xf32>
// CHECK-NEXT: return %[[B]], %[[C]]
func.func @chain(%x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %1 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %2 = arith.addf %0, %1 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %3 = math.sqrt %2 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %4 = math.exp %3 : tensor<4xf32>
  %5 = math.exp %3 : tensor<4xf32>
  return %2, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// One branch of a diamond is not marked, so its ends are two sets. Numbers go
// on from function to function.

// CHECK-LABEL: func.func @diamond
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[TOP:.*]]:2 = call @__marked_region_1(%[[X]])
// CHECK-NEXT: %[[MIDDLE:.*]] = math.exp %[[TOP]]#0
// CHECK-NEXT: %[[END:.*]] = call @__marked_region_2(%[[TOP]]#1, %[[MIDDLE]])
// CHECK-NEXT: return %[[END]]
// CHECK-LABEL: func.func private @__marked_region_1
// CHECK-NEXT: math.tanh
// CHECK-NEXT: math.sin
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @__marked_region_2
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: return
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.tanh %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = math.sin %0 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %3 = arith.mulf %2, %1 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Two regions in turns: the one that is named first is whole, though its end
// stands behind the other, which it does not need. The mark without a region
// is of another one.

// CHECK-LABEL: func.func @interleaved
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[B:.*]] = call @__marked_region_3(%[[X]])
// CHECK-NEXT: %[[A:.*]]:2 = call @__marked_region_4(%[[X]], %[[B]])
// CHECK-NEXT: %[[C:.*]] = call @__marked_region_5(%[[A]]#0)
// CHECK-NEXT: %[[D:.*]] = call @__marked_region_6(%[[C]])
// CHECK-NEXT: return %[[A]]#1, %[[D]]
// CHECK-LABEL: func.func private @__marked_region_3
// CHECK-NEXT: math.sin
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @__marked_region_4
// CHECK-NEXT: math.tanh
// CHECK-NEXT: math.cos
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @__marked_region_5
// CHECK-NEXT: math.exp
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @__marked_region_6
// CHECK-NEXT: math.absf
// CHECK-NEXT: return
func.func @interleaved(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = math.tanh %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %1 = math.sin %x {commsched.compile_with = {pipeline = "cse", region = "b"}} : tensor<4xf32>
  %2 = math.exp %0 {commsched.compile_with = {pipeline = "cse", region = "b"}} : tensor<4xf32>
  %3 = math.cos %1 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %4 = math.absf %2 {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// What nothing joins comes together as well, behind all that it needs. A symbol
// that is taken is none of the numbers.

// CHECK-LABEL: func.func @apart
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[A:.*]] = math.exp %[[X]]
// CHECK-NEXT: %[[Y:.*]]:2 = call @__marked_region_8(%[[X]], %[[A]])
// CHECK-NEXT: %[[B:.*]] = math.exp %[[Y]]#0
// CHECK-NEXT: return %[[B]], %[[Y]]#1
// CHECK-LABEL: func.func private @__marked_region_8
// CHECK-NEXT: math.tanh %arg0
// CHECK-NEXT: math.cos %arg1
// CHECK-LABEL: func.func private @__marked_region_7
// CHECK-NEXT: math.exp {{.*}}commsched.compile_with
func.func @apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = math.tanh %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = math.exp %x : tensor<4xf32>
  %3 = math.cos %2 {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
func.func private @__marked_region_7(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Nested modules have symbols of their own; numbers still go on.

// CHECK-LABEL: module @inner
// CHECK: call @__marked_region_9
// CHECK: func.func private @__marked_region_9
// CHECK-NEXT: math.exp
module @inner {
  func.func private @declared(tensor<4xf32>)
      attributes {commsched.compile_with = {pipeline = "cse"}}
  func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
