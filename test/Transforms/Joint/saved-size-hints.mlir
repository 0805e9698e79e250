// The sizes that an operation of the forward gives are known in the backward and
// on the host, too.

// RUN: commsched-opt %s --commsched-partition-joint | FileCheck %s
// CHECK: func.func private @step_backward(
// CHECK-SAME: tensor<?x4xi8> {commsched.name = "a", commsched.role = "saved_activation", commsched.size_hints = array<i64: 1048576>}

// RUN: %prints commsched-opt %s -o /dev/null --test-commsched-fit-memory="memory-budget=7MiB host-memory=1GiB" --commsched-report=format=json \
// RUN:   '"function":"step",{{.*}}"transfer_bytes":8388608'

// RUN: commsched-opt %s \
// RUN:   --test-commsched-fit-memory="memory-budget=7MiB host-memory=1GiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=HOST
// HOST: commsched.offload {{.*}}commsched.size_hints = array<i64: 1048576>
// HOST: func.func private @step_backward(
// HOST: commsched.reload {{.*}}commsched.size_hints = array<i64: 1048576>

func.func @step(%x: tensor<10xi8> {commsched.role = "input"}, %dy: tensor<10xi8>
    {commsched.role = "tangent"}) -> (tensor<10xi8>, tensor<10xi8>)
    attributes {commsched.num_forward_outputs = 1} {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a",
      commsched.size_hints = array<i64: 1048576>,
      commsched.runtime_ns = 900000} : (tensor<10xi8>) -> tensor<?x4xi8>
  %b = commsched.compute "aten.mm"(%a) {commsched.runtime_ns = 900000}
      : (tensor<?x4xi8>) -> tensor<10xi8>
  %c = commsched.compute "aten.mm"(%b) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>) -> tensor<10xi8>
  %t = commsched.compute "aten.mm"(%c) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>) -> tensor<6291456xi8>
  %y = commsched.compute "y"(%t) {commsched.runtime_ns = 900000}
      : (tensor<6291456xi8>) -> tensor<10xi8>
  %dt = commsched.compute "back"(%dy) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>) -> tensor<10xi8>
  %da = commsched.compute "back"(%dt, %a) {commsched.runtime_ns = 900000}
      : (tensor<10xi8>, tensor<?x4xi8>) -> tensor<10xi8>
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
