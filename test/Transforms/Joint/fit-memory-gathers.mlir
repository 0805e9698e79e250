// A gathered parameter stays from the forward to the backward where there is
// memory for that, and is gathered again where there is not: here nothing hides
// the second gather, so that keeping it makes the step 1000 ns shorter.

// RUN: %prints commsched-opt %s -o /dev/null --test-commsched-fit-memory=memory-budget=8000 --test-commsched-verify-partition --commsched-report=format=json \
// RUN:   '"function":"step","num_ops":6,"num_collectives":1,{{.*}}"step_time_ns":1040,'
// RUN: %prints commsched-opt %s -o /dev/null --test-commsched-fit-memory=memory-budget=4000 --test-commsched-verify-partition --commsched-report=format=json \
// RUN:   '"function":"step","num_ops":8,"num_collectives":2,{{.*}}"step_time_ns":2040,'

commsched.group @dp size(4)

func.func @step(%w: tensor<250xi8> {commsched.role = "parameter"},
    %x: tensor<100xi8> {commsched.role = "input"}, %dy: tensor<100xi8>
    {commsched.role = "tangent"}) -> (tensor<100xi8>, tensor<100xi8>)
    attributes {commsched.num_forward_outputs = 1} {
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 1000}
      : tensor<250xi8> -> !commsched.future<tensor<1000xi8>>
  %g = commsched.wait %f : !commsched.future<tensor<1000xi8>>
  %h = commsched.compute "aten.mm"(%x, %g) {commsched.runtime_ns = 10}
      : (tensor<100xi8>, tensor<1000xi8>) -> tensor<100xi8>
  %t = commsched.compute "aten.mm"(%h) {commsched.runtime_ns = 10}
      : (tensor<100xi8>) -> tensor<3000xi8>
  %y = commsched.compute "aten.sum"(%t) {commsched.runtime_ns = 10}
      : (tensor<3000xi8>) -> tensor<100xi8>
  %dx = commsched.compute "aten.mm"(%dy, %g) {commsched.runtime_ns = 10}
      : (tensor<100xi8>, tensor<1000xi8>) -> tensor<100xi8>
  return %y, %dx : tensor<100xi8>, tensor<100xi8>
}
