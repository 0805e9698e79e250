// Saved values go to the host where the computation of both halves hides their
// transfers: the step takes no longer, and less memory.

// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-fit-memory="memory-budget=7MiB host-memory=1GiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s
// RUN: commsched-opt %t.mlir --test-commsched-fit-memory="memory-budget=7MiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=DEVICE
// Nothing is sent that need not be.
// RUN: commsched-opt %t.mlir --test-commsched-fit-memory="memory-budget=1GiB host-memory=1GiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=DEVICE
// DEVICE-NOT: commsched.offload

// Transfers are no collectives.
// RUN: commsched-opt %t.mlir -o /dev/null --test-commsched-fit-memory="memory-budget=7MiB \
// RUN:   host-memory=1GiB frontier=-" | FileCheck %s --check-prefix=FRONTIER
// FRONTIER: ,num_collectives
// FRONTIER: step,{{[0-9]+}},6291486,6300000,6300000,0,0{{$}}

// CHECK-LABEL: func.func private @step_forward(
// CHECK-SAME: -> (tensor<10xi8>, tensor<4194304xi8, #commsched.host>
// CHECK: %[[A:.*]] = commsched.compute "aten.mm"
// CHECK: commsched.offload
// CHECK: return {{.*}} : tensor<10xi8>, tensor<4194304xi8, #commsched.host>
// CHECK-LABEL: func.func private @step_backward({{.*}}tensor<4194304xi8, #commsched.host>
// CHECK: %[[F:.*]] = commsched.reload
// CHECK: commsched.wait %[[F]]
func.func @step(%x: tensor<10xi8> $in, %dy: tensor<10xi8> $tangent) -> (tensor<10xi8>, tensor<10xi8>) $joint {
  $take(%a = aten.mm %x in 900000 ns : (tensor<10xi8>) -> tensor<4194304xi8>)
  $take(%b = aten.mm %a in 900000 ns : (tensor<4194304xi8>) -> tensor<10xi8>)
  $take(%c = aten.mm %b in 900000 ns : (tensor<10xi8>) -> tensor<10xi8>)
  $take(%t = aten.mm %c in 900000 ns : (tensor<10xi8>) -> tensor<6291456xi8>)
  $take(%y = y %t in 900000 ns : (tensor<6291456xi8>) -> tensor<10xi8>)
  $take(%dt = back %dy in 900000 ns : (tensor<10xi8>) -> tensor<10xi8>)
  $take(%da = back %dt, %a in 900000 ns : (tensor<10xi8>, tensor<4194304xi8>) -> tensor<10xi8>)
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
