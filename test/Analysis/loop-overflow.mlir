// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-report -split-input-file -verify-diagnostics
// RUN: commsched-opt %t.mlir --commsched-pipeline -split-input-file -verify-diagnostics

// Loops that take longer than 64 bits say, alone or with what is before them, in a
// report and in a block that is scheduled.

!t = tensor<4xf32>
commsched.group @g size(2)

// Operations around the loop, and collectives in it, do not hide it.

func.func @collectives(%x: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4611686018427387904 : index
  %x1 = commsched.compute "before"(%x) {commsched.runtime_ns = 5} : (!t) -> !t
  // expected-error @below {{'scf.for' op runs its body 4611686018427387904 times, and the nanoseconds of that do not fit 64 bits}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x1) -> (!t) {
    $run(%w = all_reduce %a on @g reduction(sum) : !t -> !t)
    scf.yield %w : !t
  }
  %y = commsched.compute "after"(%r) {commsched.runtime_ns = 5} : (!t) -> !t
  $run(%w = all_reduce %y on @g reduction(sum) : !t -> !t)
  return %w : !t
}

// -----

commsched.group @g size(2)

// The sum of two loops.

func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 4611686018427387904 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %b = commsched.compute "body"(%a) {commsched.runtime_ns = 1 : i64}
        : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  // expected-error @below {{'scf.for' op takes 4611686018427387904 ns for 4611686018427387904 iterations, which together with the operations before it does not fit 64 bits}}
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %r) -> (tensor<4xf32>) {
    %b = commsched.compute "body"(%a) {commsched.runtime_ns = 1 : i64}
        : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  $run(%w = all_reduce %s on @g reduction(sum) : tensor<4xf32> -> tensor<4xf32>)
  return %w : tensor<4xf32>
}
