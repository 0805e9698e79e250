// RUN: commsched-opt %s --commsched-compile-regions > %t.once
// RUN: %orders < %t.once | FileCheck %s
// RUN: commsched-opt %t.once --commsched-compile-regions | diff %t.once -

#cse = {pipeline = "cse"}
#nothing = {pipeline = ""}

// Constants are copied, marked or not; those that nobody else uses move.

// CHECK-LABEL: func.func @constants
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: // order: {{.*}}call arith.mulf{{$}}
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: // order: {{.*}}arith.addf arith.addf arith.addf{{$}}
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
// CHECK-NEXT: // order: arith.constant{{$}}
// CHECK-NOT: func.func
func.func @only_constants() -> tensor<4xf32> {
  %0 = arith.constant {commsched.compile_with = #cse} dense<2.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}


// A view of an argument that others use stays: no result is a view of an
// argument. The function has a copy of the first, which it needs, too.

// CHECK-LABEL: func.func @argument_views
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: // order: tensor.collapse_shape tensor.expand_shape call{{$}}
// CHECK-LABEL: func.func private @__marked_region_1
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>) -> tensor<16xf32>
// CHECK-NEXT: // order: tensor.collapse_shape math.exp{{$}}
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
// CHECK-NEXT: // order: call tensor.collapse_shape{{$}}
// CHECK-LABEL: func.func private @__marked_region_2
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>)
// CHECK-NEXT: // order: math.exp tensor.collapse_shape math.exp{{$}}
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
// CHECK-NEXT: // order: call{{$}}
// CHECK-LABEL: func.func private @__marked_region_3
// CHECK-NEXT: // order: tensor.collapse_shape math.exp tensor.expand_shape{{$}}
func.func @views_inside(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] {commsched.compile_with = #cse}
      : tensor<4x4xf32> into tensor<16xf32>
  %1 = math.exp %0 {commsched.compile_with = #cse} : tensor<16xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [4, 4] {commsched.compile_with = #cse}
      : tensor<16xf32> into tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
