// RUN: commsched-opt %s --commsched-partition-joint=strategy=default \
// RUN:   --test-commsched-verify-partition | FileCheck %s

// A value of the forward that the backward uses is saved, however cheap it is.
// What the backward does not use is not, a constant is made again, and of a view
// its operand is saved.

!t = tensor<4xf32>
!m = tensor<4x4xf32>

// CHECK-LABEL: func.func private @activations_forward(
// CHECK-SAME: -> (tensor<4x4xf32>, tensor<4x4xf32> {commsched.name = "a"}, tensor<4x4xf32> {commsched.name = "b"}) attributes
// CHECK-NEXT: %[[H:.+]] = commsched.compute "aten.mm"
// CHECK-NEXT: %[[A:.+]] = commsched.compute "aten.sin"(%[[H]])
// CHECK-NEXT: %[[B:.+]] = commsched.compute "aten.cos"(%[[A]])
// CHECK-NEXT: %[[V:.+]] = commsched.compute "aten.view"(%[[B]])
// CHECK-NEXT: %[[Y:.+]] = commsched.compute "aten.exp"(%[[V]])
// CHECK-NEXT: return %[[Y]], %[[A]], %[[B]]
// CHECK-LABEL: func.func private @activations_backward(
// CHECK-SAME: %[[A:[^:]+]]: tensor<4x4xf32> {commsched.name = "a", commsched.role = "saved_activation"},
// CHECK-SAME: %[[B:[^:]+]]: tensor<4x4xf32> {commsched.name = "b", commsched.role = "saved_activation"},
// CHECK-SAME: %[[T:[^:]+]]: tensor<4x4xf32> {commsched.role = "tangent"})
// CHECK-NEXT: %[[V:.+]] = commsched.compute "aten.view"(%[[B]])
// CHECK-NEXT: %[[C:.+]] = arith.constant
// CHECK-NEXT: commsched.compute "back"(%[[T]], %[[A]], %[[V]], %[[C]])
func.func @activations(%w: !m {commsched.role = "parameter"},
    %x: !m {commsched.role = "input"}, %dy: !m {commsched.role = "tangent"})
    -> (!m, !m) attributes {commsched.num_forward_outputs = 1 : i64} {
  %h = commsched.compute "aten.mm"(%x, %w) {commsched.name = "h"}
      : (!m, !m) -> !m
  %a = commsched.compute "aten.sin"(%h) {commsched.name = "a"} : (!m) -> !m
  %b = commsched.compute "aten.cos"(%a) {commsched.name = "b"} : (!m) -> !m
  %v = commsched.compute "aten.view"(%b) {alias = 0, commsched.name = "v"}
      : (!m) -> tensor<16xf32>
  %y = commsched.compute "aten.exp"(%v) {commsched.name = "y"}
      : (tensor<16xf32>) -> !m
  %c = arith.constant {commsched.name = "c"} dense<2.0> : !m
  %g = commsched.compute "back"(%dy, %a, %v, %c) : (!m, !m, tensor<16xf32>, !m)
      -> !m
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
// CHECK-NEXT: commsched.compute "back"(%[[T]], %[[MASK]], %[[SCALE]])
func.func @several(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %norm:3 = commsched.compute "aten.native_layer_norm"(%x)
      {commsched.name = "norm"} : (!t) -> (!t, tensor<1xf32>, tensor<1xf32>)
  %drop:2 = commsched.compute "aten.native_dropout"(%norm#0)
      {random, commsched.name = "drop"} : (!t) -> (!t, tensor<4xi1>)
  %g = commsched.compute "back"(%dy, %drop#1, %norm#2)
      : (!t, tensor<4xi1>, tensor<1xf32>) -> !t
  return %drop#0, %g : !t, !t
}

// A tensor of which the backward needs only the size is not saved.

// CHECK-LABEL: func.func private @measured_forward(
// CHECK-SAME: -> tensor<4xf32> attributes
// CHECK-LABEL: func.func private @measured_backward(
// CHECK-SAME: %[[T:[^:]+]]: tensor<4xf32> {commsched.role = "tangent"})
// CHECK-NEXT: %[[SIZE:.+]] = arith.constant 4 : index
// CHECK-NEXT: commsched.compute "back"(%[[T]], %[[SIZE]])
func.func @measured(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %h = commsched.compute "aten.sin"(%x) : (!t) -> !t
  %y = commsched.compute "aten.cos"(%h) : (!t) -> !t
  %c0 = arith.constant 0 : index
  %size = tensor.dim %h, %c0 : !t
  %g = commsched.compute "back"(%dy, %size) : (!t, index) -> !t
  return %y, %g : !t, !t
}

// What is read before the forward writes it is read in the forward, although
// only the backward has a use for it.

// CHECK-LABEL: func.func private @written_forward(
// CHECK-SAME: -> (tensor<4xf32>, f32 {commsched.name = "old"}) attributes
// CHECK: %[[OLD:.+]] = memref.load
// CHECK-NEXT: %[[NEW:.+]] = arith.negf %[[OLD]]
// CHECK-NEXT: memref.store %[[NEW]]
// CHECK-NEXT: %[[Y:.+]] = commsched.compute "aten.sin"
// CHECK-NEXT: return %[[Y]], %[[OLD]]
// CHECK-LABEL: func.func private @written_backward(
// CHECK-SAME: %[[OLD:[^:]+]]: f32 {commsched.name = "old", commsched.role = "saved_activation"},
// CHECK-SAME: %[[T:[^:]+]]: tensor<4xf32> {commsched.role = "tangent"})
// CHECK-NEXT: commsched.compute "back"(%[[T]], %[[OLD]])
func.func @written(%m: memref<4xf32> {commsched.role = "input"},
    %x: !t {commsched.role = "input"}, %dy: !t {commsched.role = "tangent"})
    -> (!t, !t) attributes {commsched.num_forward_outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %old = memref.load %m[%c0] {commsched.name = "old"} : memref<4xf32>
  %new = arith.negf %old : f32
  memref.store %new, %m[%c0] : memref<4xf32>
  %y = commsched.compute "aten.sin"(%x) : (!t) -> !t
  %g = commsched.compute "back"(%dy, %old) : (!t, f32) -> !t
  return %y, %g : !t, !t
}

// Where the forward's results do not need an operation, its tag decides.

// CHECK-LABEL: func.func private @tagged_forward(
// CHECK-SAME: -> (tensor<4xf32>, tensor<4xf32> {commsched.name = "arg0"}, tensor<4xf32> {commsched.name = "y"}, tensor<4xf32> {commsched.name = "f"}, tensor<4xf32> {commsched.name = "mf"}, tensor<4xf32> {commsched.name = "constant"}) attributes
// CHECK-NEXT: "aten.sin"
// CHECK-NEXT: "aten.cos"
// CHECK-NEXT: "aten.exp"
// CHECK-NEXT: "aten.full"
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @tagged_backward(
// CHECK-NEXT: "aten.abs"
// CHECK-NEXT: "aten.neg"
// CHECK-NEXT: "aten.ceil"
// CHECK-NEXT: "back"
func.func @tagged(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %y = commsched.compute "aten.sin"(%x) {commsched.name = "y"} : (!t) -> !t
  %f = commsched.compute "aten.cos"(%x) {commsched.name = "f",
      commsched.partition = "forward"} : (!t) -> !t
  %mf = commsched.compute "aten.exp"(%x) {commsched.name = "mf",
      commsched.partition = "must_be_forward"} : (!t) -> !t
  %constant = commsched.compute "aten.full"() {commsched.name = "constant",
      commsched.partition = "must_be_forward"} : () -> !t
  %none = commsched.compute "aten.abs"(%x) {commsched.name = "none"}
      : (!t) -> !t
  %b = commsched.compute "aten.neg"(%y) {commsched.name = "b",
      commsched.partition = "backward"} : (!t) -> !t
  %mb = commsched.compute "aten.ceil"(%y) {commsched.name = "mb",
      commsched.partition = "must_be_backward"} : (!t) -> !t
  %g = commsched.compute "back"(%dy, %f, %mf, %constant, %none, %b, %mb)
      : (!t, !t, !t, !t, !t, !t, !t) -> !t
  return %y, %g : !t, !t
}

// A collective whose result nobody uses is in no half.

commsched.group @dp size(4)

// CHECK-LABEL: func.func private @dead_forward(
// CHECK-NEXT: "aten.sin"
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @dead_backward(
// CHECK-NEXT: "back"
func.func @dead(%w: tensor<1xf32> {commsched.role = "parameter"},
    %x: !t {commsched.role = "input"}, %dy: !t {commsched.role = "tangent"})
    -> (!t, !t) attributes {commsched.num_forward_outputs = 1 : i64} {
  %s = commsched.all_gather %w on @dp dim(0)
      : tensor<1xf32> -> !commsched.future<!t>
  %full = commsched.wait %s : !commsched.future<!t>
  %v = commsched.compute "aten.view"(%full) {alias = 0}
      : (!t) -> tensor<2x2xf32>
  %y = commsched.compute "aten.sin"(%x) {commsched.name = "y"} : (!t) -> !t
  %g = commsched.compute "back"(%dy, %y) : (!t, !t) -> !t
  return %y, %g : !t, !t
}
