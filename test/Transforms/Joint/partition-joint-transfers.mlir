// RUN: commsched-opt %s --commsched-partition-joint --test-commsched-verify-partition \
// RUN:   --commsched-quantize-activations=size-in-mb=0 | FileCheck %s
// RUN: commsched-opt %s --test-commsched-verify-partition \
// RUN:   --commsched-partition-joint=activation-memory-budget=0 | FileCheck %s

// What is copied to the host is copied once: it is saved there, however little
// memory the device has for saved values, and never computed or copied again.
// It is not quantized.

!t = tensor<10xbf16>
!u = tensor<100xbf16>

// CHECK-LABEL: func.func private @step_forward(
// CHECK-SAME: -> (tensor<4xbf16>, tensor<100xbf16, #commsched.host> {commsched.name = "a.host"})
// CHECK: compute "a"
// CHECK: commsched.offload
// CHECK: commsched.wait
// CHECK: compute "y"
// CHECK-LABEL: func.func private @step_backward(
// CHECK-SAME: %[[HOST:[^:]*]]: tensor<100xbf16, #commsched.host>
// CHECK-NOT: compute "a"
// CHECK: commsched.reload %[[HOST]]
// CHECK: compute "dw"
func.func @step(%w: !t {commsched.role = "parameter"}, %dy: tensor<4xbf16>
    {commsched.role = "tangent"}) -> (tensor<4xbf16>, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %a = commsched.compute "a"(%w) {commsched.name = "a"} : (!t) -> !u
  %f = commsched.offload %a {commsched.name = "a.offload"} : !u
      -> !commsched.future<tensor<100xbf16, #commsched.host>>
  %h = commsched.wait %f {commsched.name = "a.host"}
      : !commsched.future<tensor<100xbf16, #commsched.host>>
  %y = commsched.compute "y"(%a) {commsched.name = "y"} : (!u) -> tensor<4xbf16>
  %r = commsched.reload %h
      {commsched.name = "a.reload", commsched.partition = "must_be_backward"}
      : tensor<100xbf16, #commsched.host> -> !commsched.future<!u>
  %again = commsched.wait %r
      {commsched.name = "a.again", commsched.partition = "must_be_backward"}
      : !commsched.future<!u>
  %dw = commsched.compute "dw"(%again, %dy) {commsched.name = "dw"} : (!u, tensor<4xbf16>) -> !t
  return %y, %dw : tensor<4xbf16>, !t
}
