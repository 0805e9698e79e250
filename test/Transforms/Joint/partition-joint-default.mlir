// RUN: commsched-opt %s --commsched-partition-joint=strategy=default \
// RUN:   --test-commsched-verify-partition | %orders | FileCheck %s

// A value of the forward that the backward uses is saved, however cheap it is.
// What the backward does not use is not, a constant is made again, and of a view
// its operand is saved.

!t = tensor<4xf32>
!m = tensor<4x4xf32>
!u = tensor<16xf32>

// CHECK-LABEL: func.func private @activations_forward(
// CHECK-SAME: -> (tensor<4x4xf32>, tensor<4x4xf32> {commsched.name = "a"}, tensor<4x4xf32> {commsched.name = "b"}) attributes
// CHECK-NEXT: // order: h a b v y{{$}}
// CHECK-LABEL: func.func private @activations_backward(
// CHECK-SAME: %[[A:[^:]+]]: tensor<4x4xf32> {commsched.name = "a", commsched.role = "saved_activation"},
// CHECK-SAME: %[[B:[^:]+]]: tensor<4x4xf32> {commsched.name = "b", commsched.role = "saved_activation"},
// CHECK-SAME: %[[T:[^:]+]]: tensor<4x4xf32> {commsched.role = "tangent"})
// CHECK-NEXT: // order: v c back{{$}}
func.func @activations(%w: !m {commsched.role = "parameter"},
    %x: !m {commsched.role = "input"}, %dy: !m {commsched.role = "tangent"})
    -> (!m, !m) attributes {commsched.num_forward_outputs = 1} {
  %h = commsched.compute "aten.mm"(%x, %w) {commsched.name = "h"} : (!m, !m) -> !m
  %a = commsched.compute "aten.sin"(%h) {commsched.name = "a"} : (!m) -> !m
  %b = commsched.compute "aten.cos"(%a) {commsched.name = "b"} : (!m) -> !m
  %v = commsched.compute "aten.view"(%b) {alias = 0, commsched.name = "v"} : (!m) -> !u
  %y = commsched.compute "aten.exp"(%v) {commsched.name = "y"} : (!u) -> !m
  %c = arith.constant {commsched.name = "c"} dense<2.0> : !m
  %g = commsched.compute "back"(%dy, %a, %v, %c) : (!m, !m, !u, !m) -> !m
  return %y, %g : !m, !m
}

// Of several results each is saved by itself, also those that the forward has
// no use for: nothing is drawn or computed twice.

// CHECK-LABEL: func.func private @several_forward(
// CHECK-SAME: -> (tensor<4xf32>, tensor<1xf32> {commsched.name = "norm#2"}, tensor<4xi1> {commsched.name = "drop#1"}) attributes
// CHECK-LABEL: func.func private @several_backward(
// CHECK-SAME: %[[SCALE:[^:]+]]: tensor<1xf32> {commsched.name = "norm#2"
// CHECK-SAME: %[[MASK:[^:]+]]: tensor<4xi1> {commsched.name = "drop#1"
// CHECK-SAME: %[[T:[^:]+]]: tensor<4xf32> {commsched.role = "tangent"})
// CHECK-NEXT: // order: back{{$}}
func.func @several(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1} {
  %norm:3 = commsched.compute "aten.native_layer_norm"(%x)
      {commsched.name = "norm"} : (!t) -> (!t, tensor<1xf32>, tensor<1xf32>)
  %drop:2 = commsched.compute "aten.native_dropout"(%norm#0)
      {random, commsched.name = "drop"} : (!t) -> (!t, tensor<4xi1>)
  %g = commsched.compute "back"(%dy, %drop#1, %norm#2) : (!t, tensor<4xi1>, tensor<1xf32>) -> !t
  return %drop#0, %g : !t, !t
}

// What is read before the forward writes it is read in the forward, although
// only the backward has a use for it.

// CHECK-LABEL: func.func private @written_forward(
// CHECK-SAME: -> (tensor<4xf32>, f32 {commsched.name = "old"}) attributes
// CHECK-NEXT: // order: {{.*}}old arith.negf memref.store aten.sin{{$}}
// CHECK-LABEL: func.func private @written_backward(
// CHECK-SAME: %[[OLD:[^:]+]]: f32 {commsched.name = "old", commsched.role = "saved_activation"},
// CHECK-SAME: %[[T:[^:]+]]: tensor<4xf32> {commsched.role = "tangent"})
// CHECK-NEXT: // order: back{{$}}
func.func @written(%m: memref<4xf32> {commsched.role = "input"},
    %x: !t {commsched.role = "input"}, %dy: !t {commsched.role = "tangent"})
    -> (!t, !t) attributes {commsched.num_forward_outputs = 1} {
  %c0 = arith.constant 0 : index
  %old = memref.load %m[%c0] {commsched.name = "old"} : memref<4xf32>
  %new = arith.negf %old : f32
  memref.store %new, %m[%c0] : memref<4xf32>
  %y = commsched.compute "aten.sin"(%x) : (!t) -> !t
  %g = commsched.compute "back"(%dy, %old) : (!t, f32) -> !t
  return %y, %g : !t, !t
}
