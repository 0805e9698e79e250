// RUN: commsched-opt %s --commsched-compile-regions > %t.once
// RUN: FileCheck %s < %t.once
// RUN: commsched-opt %t.once --commsched-compile-regions | diff %t.once -

#cse = {pipeline = "cse"}
#nothing = {pipeline = ""}

// Constants are copied, marked or not; those that nobody else uses move.

// CHECK-LABEL: func.func @constants
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[ONE:.*]] = arith.constant dense<1.0{{.*}}> : tensor<4xf32>
// CHECK-NEXT: %[[TWO:.*]] = arith.constant dense<2.0{{.*}}> : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = call @__marked_region_0(%[[X]])
// CHECK-NEXT: %[[Z:.*]] = arith.mulf %[[Y]], %[[TWO]]
// CHECK-NEXT: return %[[Z]], %[[ONE]]
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.0
// CHECK-DAG: %[[TWO:.*]] = arith.constant dense<2.0
// CHECK-DAG: %[[THREE:.*]] = arith.constant dense<3.0
// CHECK: %[[A:.*]] = arith.addf %[[X]], %[[ONE]]
// CHECK-NEXT: %[[B:.*]] = arith.addf %[[A]], %[[TWO]]
// CHECK-NEXT: %[[C:.*]] = arith.addf %[[B]], %[[THREE]]
// CHECK-NEXT: return %[[C]]
func.func @constants(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %two = arith.constant {commsched.compile_with = #nothing} dense<2.0> : tensor<4xf32>
  %three = arith.constant {commsched.compile_with = #nothing} dense<3.0> : tensor<4xf32>
  %0 = arith.addf %x, %one {commsched.compile_with = #nothing} : tensor<4xf32>
  %1 = arith.addf %0, %two {commsched.compile_with = #nothing} : tensor<4xf32>
  %2 = arith.addf %1, %three {commsched.compile_with = #nothing} : tensor<4xf32>
  %3 = arith.mulf %2, %two : tensor<4xf32>
  return %3, %one : tensor<4xf32>, tensor<4xf32>
}


// Constants alone are no region.

// CHECK-LABEL: func.func @only_constants
// CHECK-NEXT: arith.constant
// CHECK-NEXT: return
// CHECK-NOT: func.func
func.func @only_constants() -> tensor<4xf32> {
  %0 = arith.constant {commsched.compile_with = #cse} dense<2.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}


// A view of an argument that others use stays: no result is a view of an
// argument. The function has a copy of the first, which it needs, too.

// CHECK-LABEL: func.func @argument_views
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[V:.*]] = tensor.collapse_shape %[[X]]
// CHECK-SAME: {{\]}} : tensor
// CHECK-NEXT: %[[W:.*]] = tensor.expand_shape %[[V]]
// CHECK-NEXT: %[[Y:.*]] = call @__marked_region_1(%[[X]]) {commsched.pure} : (tensor<4x4xf32>) -> tensor<16xf32>
// CHECK-NEXT: return %[[V]], %[[W]], %[[Y]]
// CHECK-LABEL: func.func private @__marked_region_1
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>) -> tensor<16xf32>
// CHECK-NEXT: %[[V:.*]] = tensor.collapse_shape %[[X]]
// CHECK-NEXT: %[[Y:.*]] = math.exp %[[V]]
// CHECK-NEXT: return %[[Y]]
func.func @argument_views(%x: tensor<4x4xf32>)
    -> (tensor<16xf32>, tensor<2x8xf32>, tensor<16xf32>) {
  %0 = tensor.collapse_shape %x [[0, 1]] {commsched.compile_with = #cse}
      : tensor<4x4xf32> into tensor<16xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 8] {commsched.compile_with = #cse}
      : tensor<16xf32> into tensor<2x8xf32>
  %2 = math.exp %0 {commsched.compile_with = #cse} : tensor<16xf32>
  return %0, %1, %2 : tensor<16xf32>, tensor<2x8xf32>, tensor<16xf32>
}


// So does a view of a result, which would be returned twice; the function has a
// copy of the one that it needs.

// CHECK-LABEL: func.func @shared_views
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[Y:.*]]:2 = call @__marked_region_2(%[[X]]) {commsched.pure} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<16xf32>)
// CHECK-NEXT: %[[V:.*]] = tensor.collapse_shape %[[Y]]#0
// CHECK-NEXT: return %[[Y]]#0, %[[V]], %[[Y]]#1
// CHECK-LABEL: func.func private @__marked_region_2
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[A:.*]] = math.exp %[[X]]
// CHECK-NEXT: %[[V:.*]] = tensor.collapse_shape %[[A]]
// CHECK-NEXT: %[[B:.*]] = math.exp %[[V]]
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @shared_views(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = math.exp %x {commsched.compile_with = #cse} : tensor<4x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] {commsched.compile_with = #cse}
      : tensor<4x4xf32> into tensor<16xf32>
  %2 = math.exp %1 {commsched.compile_with = #cse} : tensor<16xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<16xf32>, tensor<16xf32>
}


// A view that is the only value of its storage goes along, and so does one that
// nobody else uses.

// CHECK-LABEL: func.func @views_inside
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: %[[Y:.*]] = call @__marked_region_3(%[[X]]) {commsched.pure} : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: return %[[Y]]
// CHECK-LABEL: func.func private @__marked_region_3
// CHECK-NEXT: tensor.collapse_shape
// CHECK-NEXT: math.exp
// CHECK-NEXT: tensor.expand_shape
// CHECK-NEXT: return
func.func @views_inside(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] {commsched.compile_with = #cse}
      : tensor<4x4xf32> into tensor<16xf32>
  %1 = math.exp %0 {commsched.compile_with = #cse} : tensor<16xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [4, 4] {commsched.compile_with = #cse}
      : tensor<16xf32> into tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
