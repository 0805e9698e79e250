// The sizes that an operation of the forward gives are known in the backward and
// on the host, too.

// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-partition-joint | FileCheck %s
// CHECK: func.func private @step_backward(
// CHECK-SAME: tensor<?x4xi8> {commsched.name = "a", commsched.role = "saved_activation", commsched.size_hints = array<i64: 1048576>}

// RUN: %prints commsched-opt %t.mlir -o /dev/null --test-commsched-fit-memory="memory-budget=7MiB host-memory=1GiB" --commsched-report=format=json \
// RUN:   '"function":"step",{{.*}}"transfer_bytes":8388608'

// RUN: commsched-opt %t.mlir --test-commsched-fit-memory="memory-budget=7MiB host-memory=1GiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=HOST
// HOST: commsched.offload {{.*}}commsched.size_hints = array<i64: 1048576>
// HOST: func.func private @step_backward(
// HOST: commsched.reload {{.*}}commsched.size_hints = array<i64: 1048576>

func.func @step(%x: tensor<10xi8> $in, %dy: tensor<10xi8> $tangent) -> (tensor<10xi8>, tensor<10xi8>) $joint {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a",
      commsched.size_hints = array<i64: 1048576>,
      commsched.runtime_ns = 900000} : (tensor<10xi8>) -> tensor<?x4xi8>
  $take(%b = aten.mm %a in 900000 ns : (tensor<?x4xi8>) -> tensor<10xi8>)
  $take(%c = aten.mm %b in 900000 ns : (tensor<10xi8>) -> tensor<10xi8>)
  $take(%t = aten.mm %c in 900000 ns : (tensor<10xi8>) -> tensor<6291456xi8>)
  $take(%y = y %t in 900000 ns : (tensor<6291456xi8>) -> tensor<10xi8>)
  $take(%dt = back %dy in 900000 ns : (tensor<10xi8>) -> tensor<10xi8>)
  $take(%da = back %dt, %a in 900000 ns : (tensor<10xi8>, tensor<?x4xi8>) -> tensor<10xi8>)
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
