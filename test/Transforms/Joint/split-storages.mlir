// RUN: commsched-opt %s --commsched-partition-joint \
// RUN:   --test-commsched-verify-partition | %orders | FileCheck %s

// Two saved views of one storage: it is saved once, and viewed again in the
// backward. What shows the argument is saved as the argument.

!t = tensor<4xf32>
!u = tensor<2xf32>

// CHECK-LABEL: func.func private @views_forward(
// CHECK-SAME: -> (tensor<4xf32>, tensor<2x2xf32> {commsched.name = "x"}, tensor<4xf32> {commsched.name = "h"})
// CHECK-LABEL: func.func private @views_backward(
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x2xf32> {commsched.name = "x", commsched.role = "input"},
// CHECK-SAME: %[[H:[^:]+]]: tensor<4xf32> {commsched.name = "h", commsched.role = "saved_activation"},
// CHECK-SAME: %[[T:[^:]+]]: tensor<4xf32> {commsched.role = "tangent"})
// CHECK-NEXT: // order: xv v0 halves v1 back{{$}}
func.func @views(
    %x: tensor<2x2xf32> {commsched.name = "x", commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"})
    -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1,
                commsched.saved_values = ["xv", "halves#1", "v1"]} {
  %xv = commsched.compute "view"(%x) {alias = 0, commsched.name = "xv"} : (tensor<2x2xf32>) -> !t
  %h = commsched.compute "mm"(%xv) {commsched.name = "h"} : (!t) -> !t
  %v0 = commsched.compute "view"(%h) {alias = 0, commsched.name = "v0"} : (!t) -> tensor<2x2xf32>
  %halves:2 = commsched.compute "unbind"(%v0)
      {alias = 0, commsched.name = "halves"} : (tensor<2x2xf32>) -> (!u, !u)
  %v1 = commsched.compute "t"(%v0) {alias = 0, commsched.name = "v1"}
      : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = commsched.compute "sin"(%v1, %halves#0) : (tensor<2x2xf32>, !u) -> !t
  %dx = commsched.compute "back"(%dy, %xv, %halves#1, %v1) : (!t, !t, !u, tensor<2x2xf32>) -> !t
  return %y, %dx : !t, !t
}

// A static size needs no tensor, even in the other half; one that is computed
// from an index is saved, but only where the tensor is not.

// CHECK-LABEL: func.func private @dimensions_forward(
// CHECK-SAME: -> (tensor<4xf32>, index, tensor<4x8xf32> {commsched.name = "kept"}, index {commsched.name = "dim"})
// CHECK-NEXT: // order: h kept dim rows sum{{$}}
// CHECK-LABEL: func.func private @dimensions_backward(
// CHECK-SAME: %[[KEPT:[^:]+]]: tensor<4x8xf32> {commsched.name = "kept",
// CHECK-SAME: %[[DIM:[^:]+]]: index {commsched.name = "dim", commsched.role = "saved_activation"},
// CHECK-NEXT: // order: {{.*}}tensor.dim back{{$}}
// CHECK-NEXT: arith.constant 8 : index
func.func @dimensions(
    %x: tensor<4x4xf32> {commsched.role = "input"},
    %i: index {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, index, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 2 : i64,
                commsched.saved_values = ["h", "kept"]} {
  %h = commsched.compute "mm"(%x) {commsched.name = "h"} : (tensor<4x4xf32>) -> tensor<4x8xf32>
  %kept = commsched.compute "mm"(%x) {commsched.name = "kept"}
      : (tensor<4x4xf32>) -> tensor<4x8xf32>
  %dim = tensor.dim {commsched.name = "dim"} %h, %i : tensor<4x8xf32>
  %zero = arith.constant 0 : index
  %rows = tensor.dim {commsched.name = "rows"} %dy, %zero : tensor<4xf32>
  %y = commsched.compute "sum"(%h, %kept) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  %one = arith.constant 1 : index
  %columns = tensor.dim %h, %one : tensor<4x8xf32>
  %other = tensor.dim %kept, %dim : tensor<4x8xf32>
  %dx = commsched.compute "back"(%dy, %columns, %dim, %other, %kept)
      : (tensor<4xf32>, index, index, index, tensor<4x8xf32>) -> tensor<4xf32>
  return %y, %rows, %dx : tensor<4xf32>, index, tensor<4xf32>
}
