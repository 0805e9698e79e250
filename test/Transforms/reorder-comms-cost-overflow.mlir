// RUN: commsched-opt %s --commsched-reorder-comms-preserving-peak-memory=reorder_iterative_use_runtime_estimations=true -verify-diagnostics
// RUN: commsched-opt %s --commsched-sink-waits-iterative=sink_iterative_use_runtime_estimations=true -verify-diagnostics

// Times that fit 64 bits, but not with the factors of the estimates.

commsched.group @g size(2)

// expected-error @below {{not reordered: node 0 (start) takes 1200000000000000000.000000 ns with the multiplier of its kind, which together with the operations before it is out of range}}
func.func @f(%x: tensor<4xi8>) -> tensor<4xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 600000000000000000 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  return %w : tensor<4xi8>
}
