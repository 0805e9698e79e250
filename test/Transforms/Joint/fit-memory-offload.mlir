// Saved values go to the host where the computation of both halves hides their
// transfers: the step takes no longer, and less memory.

// RUN: commsched-opt %s --test-commsched-fit-memory="memory-budget=7MiB host-memory=1GiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s
// RUN: commsched-opt %s --test-commsched-fit-memory="memory-budget=7MiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=DEVICE
// Nothing is sent that need not be.
// RUN: commsched-opt %s --test-commsched-fit-memory="memory-budget=1GiB host-memory=1GiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=DEVICE
// DEVICE-NOT: commsched.offload

// Transfers are no collectives.
// RUN: commsched-opt %s -o /dev/null --test-commsched-fit-memory="memory-budget=7MiB \
// RUN:   host-memory=1GiB frontier=-" | FileCheck %s --check-prefix=FRONTIER
// FRONTIER: ,num_collectives
// FRONTIER: step,{{[0-9]+}},6291486,6300000,6300000,0,0{{$}}

// CHECK-LABEL: func.func private @step_forward(
// CHECK-SAME: -> (tensor<10xi8>, tensor<4194304xi8, #commsched.host>
// CHECK: %[[A:.*]] = commsched.compute "aten.mm"
// CHECK: commsched.offload
// CHECK: return {{.*}} : tensor<10xi8>, tensor<4194304xi8, #commsched.host>
// CHECK-LABEL: func.func private @step_backward(
// CHECK-SAME: tensor<4194304xi8, #commsched.host>
// CHECK: %[[F:.*]] = commsched.reload
// CHECK: commsched.wait %[[F]]
func.func @step(%x: tensor<10xi8> {commsched.role = "input"}, %dy: tensor<10xi8>
    {commsched.role = "tangent"}) -> (tensor<10xi8>, tensor<10xi8>)
    attributes {commsched.num_forward_outputs = 1} {
  %a = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>) -> tensor<4194304xi8>
  %b = commsched.compute "aten.mm"(%a) {commsched.runtime_ns = 900000}
      : (tensor<4194304xi8>) -> tensor<10xi8>
  %c = commsched.compute "aten.mm"(%b) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>) -> tensor<10xi8>
  %t = commsched.compute "aten.mm"(%c) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>) -> tensor<6291456xi8>
  %y = commsched.compute "y"(%t) {commsched.runtime_ns = 900000}
      : (tensor<6291456xi8>) -> tensor<10xi8>
  %dt = commsched.compute "back"(%dy) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>) -> tensor<10xi8>
  %da = commsched.compute "back"(%dt, %a) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>, tensor<4194304xi8>) -> tensor<10xi8>
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
