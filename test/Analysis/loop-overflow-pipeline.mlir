// RUN: commsched-opt %s --commsched-pipeline -verify-diagnostics

// The pipeline reports a loop that takes longer than 64 bits say in a block
// that it schedules.

commsched.group @g size(2)

func.func @collectives(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4611686018427387904 : index
  %x1 = commsched.compute "before"(%x) {commsched.runtime_ns = 5 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'scf.for' op runs its body 4611686018427387904 times, and the nanoseconds of that do not fit 64 bits}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x1) -> (tensor<4xf32>) {
    %f = commsched.all_reduce %a on @g reduction(sum)
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
    scf.yield %w : tensor<4xf32>
  }
  %y = commsched.compute "after"(%r) {commsched.runtime_ns = 5 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %y on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %w : tensor<4xf32>
}
