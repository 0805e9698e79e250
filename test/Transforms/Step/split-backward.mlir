// RUN: commsched-opt %s --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched --test-commsched-split-backward -o %t \
// RUN:   2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: commsched-opt %t --test-commsched-merge-step | FileCheck %s --check-prefix=WHOLE
// RUN: commsched-opt %s \
// RUN:   --test-commsched-split-backward="function=@backward input-gradients=1" \
// RUN:   | FileCheck %s --check-prefix=GIVEN

commsched.group @g size(2)

// The parameter depends on two gradients, of which one is scaled, so that the
// other result is a gradient of an input. Both halves need the tangent, which the
// first may free: it hands it on. The view of it is made by both. The gathered
// weight is freed by the first.

// REMARK: [Passed] BackwardSplit
// REMARK-SAME: HandedBytes=64, HandedValues=2
// REMARK-SAME: '@backward' is '@backward_input', which computes 1 gradients of inputs, and '@backward_weight', which takes 2 values from it

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {commsched.carried = 1 : i64, commsched.role = "parameter"}, %[[X:[a-z0-9]+]]: tensor<8xf32> {commsched.role = "input"}, %[[T:[a-z0-9]+]]: tensor<8xf32>)
// CHECK-NEXT: %[[S:.+]] = call @forward(%[[X]])
// CHECK-NEXT: %[[I:.+]]:3 = call @backward_input(%[[W]], %[[T]])
// CHECK-NEXT: %[[B:.+]]:2 = call @backward_weight(%[[I]]#1, %[[I]]#2, %[[S]])
// CHECK-NEXT: %[[C:.+]] = call @scale(%[[B]]#1)
// CHECK-NEXT: %[[N:.+]] = call @optimizer(%[[C]], %[[B]]#0)
// CHECK-NEXT: return %[[I]]#0, %[[N]]
// CHECK: func.func private @forward(
// CHECK-NOT: commsched.backward
// CHECK-LABEL: func.func private @backward_input(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {commsched.role = "parameter"},
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<8xf32> {commsched.freeable, commsched.role = "tangent"})
// CHECK-SAME: -> (tensor<8xf32> {commsched.name = "dx"}, tensor<8xf32>, tensor<8xf32>)
// CHECK: %[[V:.+]] = commsched.compute "view"(%[[T]])
// CHECK: %[[F:.+]] = commsched.all_gather %[[W]]
// CHECK: %[[G:.+]] = commsched.wait %[[F]]
// CHECK: %[[H:.+]] = commsched.compute "activation_backward"(%[[V]])
// CHECK: %[[D:.+]] = commsched.compute "product_of_input"(%[[H]], %[[G]])
// CHECK-NOT: reduce_scatter
// CHECK: return %[[D]], %[[T]], %[[H]] :

// CHECK-LABEL: func.func private @backward_weight(
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<8xf32> {commsched.freeable, commsched.role = "tangent"},
// CHECK-SAME: %[[H:[a-z0-9]+]]: tensor<8xf32> {commsched.role = "saved_activation"},
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<8xf32> {commsched.role = "saved_activation"})
// CHECK-SAME: -> (tensor<8xf32>, tensor<4xf32>)
// CHECK: %[[V:.+]] = commsched.compute "view"(%[[T]])
// CHECK-NOT: all_gather
// CHECK: %[[P:.+]] = commsched.compute "product_of_weight"(%[[H]], %[[S]])
// CHECK: %[[F:.+]] = commsched.reduce_scatter %[[P]]
// CHECK: %[[R:.+]] = commsched.wait %[[F]]
// CHECK: %[[B:.+]] = commsched.compute "bias"(%[[V]])
// CHECK: return %[[B]], %[[R]]

// WHOLE-LABEL: func.func @step(
// WHOLE-COUNT-1: commsched.reduce_scatter
// WHOLE-NOT: func.func

// By number, the gradient of the bias is one of an input. The product of the
// input is then one of a weight, like the gather for it.

// GIVEN-LABEL: func.func private @backward_input(
// GIVEN-SAME: -> (tensor<8xf32>, tensor<8xf32>)
// GIVEN-LABEL: func.func private @backward_weight(
// GIVEN-SAME: -> (tensor<8xf32> {commsched.name = "dx"}, tensor<4xf32>)
// GIVEN: commsched.all_gather

func.func @step(
    %w: tensor<4xf32> {commsched.role = "parameter", commsched.carried = 1 : i64},
    %x: tensor<8xf32> {commsched.role = "input"}, %t: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<4xf32>) {
  %s = call @forward(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %d, %b, %g = call @backward(%w, %s, %t)
      : (tensor<4xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>)
  %c = call @scale(%g) : (tensor<4xf32>) -> tensor<4xf32>
  %n = call @optimizer(%c, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return %d, %n : tensor<8xf32>, tensor<4xf32>
}

func.func private @scale(%d: tensor<4xf32>) -> tensor<4xf32> {
  %c = commsched.compute "scale"(%d) : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}

func.func private @forward(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {commsched.backward = @backward, commsched.joint = "joint",
                commsched.num_forward_outputs = 0 : i64} {
  %s = commsched.compute "saved"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}

func.func private @backward(
    %w: tensor<4xf32> {
      commsched.role = "parameter"},
    %s: tensor<8xf32> {
      commsched.role = "saved_activation"},
    %t: tensor<8xf32> {commsched.freeable, commsched.role = "tangent"})
    -> (tensor<8xf32> {commsched.name = "dx"}, tensor<8xf32>, tensor<4xf32>)
    attributes {commsched.forward = @forward, commsched.joint = "joint"} {
  %v = commsched.compute "view"(%t) {alias = 0 : i64}
      : (tensor<8xf32>) -> tensor<8xf32>
  %f = commsched.all_gather %w on @g dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<8xf32>>
  %h = commsched.compute "activation_backward"(%v)
      : (tensor<8xf32>) -> tensor<8xf32>
  %p = commsched.compute "product_of_weight"(%h, %s)
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f2 = commsched.reduce_scatter %p on @g reduction(sum) dim(0)
      : tensor<8xf32> -> !commsched.future<tensor<4xf32>>
  %d = commsched.compute "product_of_input"(%h, %g)
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  %b = commsched.compute "bias"(%v) : (tensor<8xf32>) -> tensor<8xf32>
  return %d, %b, %r : tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
}

func.func private @optimizer(%d: tensor<4xf32>, %b: tensor<8xf32>)
    -> tensor<4xf32> {
  return %d : tensor<4xf32>
}
