// RUN: commsched-opt %s --commsched-partition-joint=strategy=default --test-commsched-verify-partition | FileCheck %s
// RUN: commsched-opt %s --test-commsched-fit-memory=memory-budget=1GiB --test-commsched-verify-partition | FileCheck %s
// RUN: commsched-opt %s --commsched-pipeline="memory-budget=1GiB steady-state activation-memory-budget=-1 quantize-activations=false" \
// RUN:   | FileCheck %s --check-prefix=WHOLE --implicit-check-not=func.func
// RUN: sed 's/%x) : (i64/%x) {no_inline} : (i64/' %s | commsched-opt --commsched-partition-joint -o %t
// RUN: %prints grep -cE '= call @joint_(for|back)ward.*no_inline' %t '2'

// A step that calls a joint function calls its forward, and its backward with
// what that saves. The states of the random generator come last in each half.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<8x4xf32> {commsched.carried = 0 : i64, commsched.role = "parameter"},
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {commsched.role = "input"}, %[[S:[a-z0-9]+]]: i64)
// CHECK-NEXT: %[[T:.+]] = arith.constant
// CHECK-NEXT: %[[F:.+]]:[[N:[0-9]]] = call @joint_forward(%[[W]], %[[X]], %[[S]])
// CHECK-NEXT: %[[B:.+]] = call @joint_backward(%[[F]]#1, {{.*}}%[[T]], %[[S]])
// CHECK-NEXT: %[[O:.+]] = call @optimizer(%[[W]], %[[B]])
// CHECK-NEXT: return %[[O]], %[[F]]#0
// CHECK-NOT: @joint(

// WHOLE: func.func @step(

!t = tensor<8x4xf32>
commsched.group @dp size(2)

func.func @step(%w: !t {commsched.carried = 0, commsched.role = "parameter"},
    %x: tensor<4x8xf32> {commsched.role = "input"}, %s: i64) -> (!t,
    tensor<f32>) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %loss, %g = call @joint(%s, %w, %one, %s, %x) : (i64, !t, tensor<f32>, i64,
      tensor<4x8xf32>) -> (tensor<f32>, !t)
  %new = call @optimizer(%w, %g) : (!t, !t) -> !t
  return %new, %loss : !t, tensor<f32>
}

func.func private @joint(%back: i64 {commsched.role = "bwd_rng_state"}, %w: !t
    {commsched.role = "parameter"}, %dl: tensor<f32>
    {commsched.role = "tangent"}, %fore: i64 {commsched.role = "fwd_rng_state"},
    %x: tensor<4x8xf32> {commsched.role = "input"}) -> (tensor<f32>, !t)
    attributes {commsched.num_forward_outputs = 1} {
  %h = commsched.compute "aten.mm"(%x, %w, %fore) {commsched.runtime_ns = 1000}
      : (tensor<4x8xf32>, !t, i64) -> tensor<4x4xf32>
  %loss = commsched.compute "aten.sum"(%h) {commsched.runtime_ns = 100}
      : (tensor<4x4xf32>) -> tensor<f32>
  %dh = commsched.compute "aten.mul"(%dl, %h, %back) {commsched.runtime_ns = 100}
      : (tensor<f32>, tensor<4x4xf32>, i64) -> tensor<4x4xf32>
  %dw = commsched.compute "aten.mm"(%x, %dh) {commsched.runtime_ns = 1000}
      : (tensor<4x8xf32>, tensor<4x4xf32>) -> !t
  %f = commsched.all_reduce %dw on @dp reduction(sum) {commsched.runtime_ns = 500}
      : !t -> !commsched.future<!t>
  %r = commsched.wait %f : !commsched.future<!t>
  return %loss, %r : tensor<f32>, !t
}

func.func private @optimizer(%w: !t, %g: !t) -> !t {
  %new = commsched.compute "aten.sub"(%w, %g) {commsched.runtime_ns = 10} : (!t, !t) -> !t
  return %new : !t
}
