// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -split-input-file %remarks \
// RUN:   --test-commsched-split-backward -o %t 2> %t.remarks
// RUN: FileCheck %s --check-prefix=LINKS < %t.remarks
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t.mlir -split-input-file %remarks \
// RUN:   --test-commsched-split-backward=input-gradients=0 -o %t 2> %t.remarks
// RUN: FileCheck %s --check-prefix=GIVEN < %t.remarks
// RUN: FileCheck %s --check-prefix=SPLIT < %t

// Nothing says what is a gradient of a parameter.

// LINKS: [Missed] BackwardNotSplit
// LINKS-SAME: '@backward' is not split: no parameter of the next repetition depends on a result of it
// CHECK-COUNT-7: func.func @backward(
// GIVEN: [Missed] BackwardNotSplit
// GIVEN-SAME: '@backward' is not split: no result of it is a gradient of a weight
// SPLIT: func.func @backward(
func.func @backward(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// The first stage of a pipeline: nothing waits for a gradient of an input.

// LINKS: [Missed] BackwardNotSplit
// LINKS-SAME: each result of it is a gradient of a parameter
// GIVEN: no result of it is a gradient of a weight
// SPLIT: func.func @backward(
func.func @backward(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @step(
    %w: tensor<4xf32> {commsched.role = "parameter", commsched.carried = 0 : i64})
    -> tensor<4xf32> {
  %g = call @backward(%w) : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// LINKS-COUNT-4: BackwardNotSplit
// SPLIT-COUNT-4: func.func @backward(
!t = tensor<4xf32>
func.func @backward(%x: !t) -> (!t, !t) {
  ROW
}

// -----

  // GIVEN: its body is not one block
  cf.br ^end
^end:
  return %x, %x : !t, !t

  // Both results are computed by the same operation.
  // GIVEN: all of its operations compute gradients of inputs
  %0 = commsched.compute "a"(%x) : (!t) -> !t
  return %0, %0 : !t, !t

  // What the second half would write is an argument of both.
  // GIVEN: 'add_' computes gradients of weights and may write memory that gradients of inputs are computed from
  %0 = commsched.compute "a"(%x) : (!t) -> !t
  %1 = commsched.compute "add_"(%x) {alias = 0 : i64, mutates = array<i64: 0>} : (!t) -> !t
  return %0, %1 : !t, !t

  // The first half writes what the second reads before: both are of the first.
  // GIVEN: all of its operations compute gradients of inputs
  %0 = commsched.compute "a"(%x) : (!t) -> !t
  %1 = commsched.compute "add_"(%x) {alias = 0 : i64, mutates = array<i64: 0>} : (!t) -> !t
  return %1, %0 : !t, !t

// -----

// A function that something other than a call refers to stays. Both halves take
// what both need.

// LINKS: BackwardNotSplit
// GIVEN: [Passed] BackwardSplit
// SPLIT: func.func private @backward(
// SPLIT: func.func @backward_input(
// SPLIT: func.func @backward_weight(
// SPLIT: func.func @caller(%[[X:[a-z0-9]+]]:
// SPLIT-NEXT: call @backward_input(%[[X]])
// SPLIT-NEXT: call @backward_weight(%[[X]])
!t = tensor<4xf32>
func.func @backward(%x: !t) -> (!t, !t) {
  %0 = commsched.compute "a"(%x) : (!t) -> !t
  %1 = commsched.compute "b"(%x) : (!t) -> !t
  return %0, %1 : !t, !t
}
func.func @caller(%x: !t) {
  call @backward(%x) : (!t) -> (!t, !t)
  %f = constant @backward : (!t) -> (!t, !t)
  return
}
