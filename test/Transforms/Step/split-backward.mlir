// RUN: commsched-opt %s %remarks --test-commsched-split-backward -o %t 2> %t.remarks
// RUN: %orders < %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: commsched-opt %t --test-commsched-merge-step | FileCheck %s --check-prefix=WHOLE
// RUN: commsched-opt %s --test-commsched-split-backward="function=@backward input-gradients=1" \
// RUN:   | FileCheck %s --check-prefix=GIVEN

!t = tensor<8xf32>
!half = tensor<4xf32>
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
// CHECK-NEXT: // order:{{.*}}
// CHECK-NEXT: %[[S:.+]] = call @forward(%[[X]])
// CHECK-NEXT: %[[I:.+]]:3 = call @backward_input(%[[W]], %[[T]])
// CHECK-NEXT: %[[B:.+]]:2 = call @backward_weight(%[[I]]#1, %[[I]]#2, %[[S]])
// CHECK-NEXT: %[[C:.+]] = call @scale(%[[B]]#1)
// CHECK-NEXT: %[[N:.+]] = call @optimizer(%[[C]], %[[B]]#0)
// CHECK-NEXT: return %[[I]]#0, %[[N]]
// CHECK: func.func private @forward(
// CHECK-LABEL: func.func private @backward_input(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {commsched.role = "parameter"},
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<8xf32> {commsched.freeable, commsched.role = "tangent"})
// CHECK-SAME: -> (tensor<8xf32> {commsched.name = "dx"}, tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT: // order: view all_gather wait activation_backward product_of_input{{$}}

// CHECK-LABEL: func.func private @backward_weight(
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<8xf32> {commsched.freeable, commsched.role = "tangent"},
// CHECK-SAME: %[[H:[a-z0-9]+]]: tensor<8xf32> {commsched.role = "saved_activation"},
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<8xf32> {commsched.role = "saved_activation"})
// CHECK-SAME: -> (tensor<8xf32>, tensor<4xf32>)
// CHECK-NEXT: // order: view product_of_weight reduce_scatter wait bias{{$}}

// WHOLE-LABEL: func.func @step(
// WHOLE-COUNT-1: commsched.reduce_scatter
// WHOLE-NOT: func.func

// By number, the gradient of the bias is one of an input. The product of the
// input is then one of a weight, like the gather for it.

// GIVEN-LABEL: func.func private @backward_input({{.*}}-> (tensor<8xf32>, tensor<8xf32>)
// GIVEN-LABEL: func.func private @backward_weight(
// GIVEN-SAME: -> (tensor<8xf32> {commsched.name = "dx"}, tensor<4xf32>)
// GIVEN: commsched.all_gather

func.func @step(%w: !half {commsched.role = "parameter", commsched.carried = 1},
    %x: !t {commsched.role = "input"}, %t: !t) -> (!t, !half) {
  %s = call @forward(%x) : (!t) -> !t
  %d, %b, %g = call @backward(%w, %s, %t) : (!half, !t, !t) -> (!t, !t, !half)
  %c = call @scale(%g) : (!half) -> !half
  %n = call @optimizer(%c, %b) : (!half, !t) -> !half
  return %d, %n : !t, !half
}

func.func private @scale(%d: !half) -> !half {
  %c = commsched.compute "scale"(%d) : (!half) -> !half
  return %c : !half
}

func.func private @forward(%x: !t) -> !t {
  %s = commsched.compute "saved"(%x) : (!t) -> !t
  return %s : !t
}

func.func private @backward(%w: !half {
      commsched.role = "parameter"},
    %s: !t {
      commsched.role = "saved_activation"},
    %t: !t {commsched.freeable, commsched.role = "tangent"})
    -> (!t {commsched.name = "dx"}, !t, !half) {
  %v = commsched.compute "view"(%t) {alias = 0} : (!t) -> !t
  %f = commsched.all_gather %w on @g dim(0) : !half -> !commsched.future<!t>
  %g = commsched.wait %f : !commsched.future<!t>
  %h = commsched.compute "activation_backward"(%v) : (!t) -> !t
  %p = commsched.compute "product_of_weight"(%h, %s) : (!t, !t) -> !t
  %f2 = commsched.reduce_scatter %p on @g reduction(sum) dim(0) : !t -> !commsched.future<!half>
  %d = commsched.compute "product_of_input"(%h, %g) : (!t, !t) -> !t
  %r = commsched.wait %f2 : !commsched.future<!half>
  %b = commsched.compute "bias"(%v) : (!t) -> !t
  return %d, %b, %r : !t, !t, !half
}

func.func private @optimizer(%d: !half, %b: !t) -> !half {
  return %d : !half
}
