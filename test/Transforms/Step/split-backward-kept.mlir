// RUN: commsched-opt %s -split-input-file --remark-policy=all \
// RUN:   --remark-format=emitRemark --remarks-filter=commsched \
// RUN:   --test-commsched-split-backward -o %t 2> %t.remarks
// RUN: FileCheck %s --check-prefix=LINKS < %t.remarks
// RUN: FileCheck %s < %t
// RUN: commsched-opt %s -split-input-file --remark-policy=all \
// RUN:   --remark-format=emitRemark --remarks-filter=commsched \
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

// LINKS: BackwardNotSplit
// GIVEN: its body is not one block
// SPLIT: func.func @backward(
func.func @backward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  cf.br ^end
^end:
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// Both results are computed by the same operation.

// LINKS: BackwardNotSplit
// GIVEN: all of its operations compute gradients of inputs
// SPLIT: func.func @backward(
func.func @backward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What the second half would write is an argument of both.

// LINKS: BackwardNotSplit
// GIVEN: 'add_' computes gradients of weights and may write memory that gradients of inputs are computed from
// SPLIT: func.func @backward(
func.func @backward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = commsched.compute "add_"(%x) {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The first half writes what the second reads before: both are of the first.

// LINKS: BackwardNotSplit
// GIVEN: all of its operations compute gradients of inputs
// SPLIT: func.func @backward(
func.func @backward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = commsched.compute "add_"(%x) {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}

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
func.func @backward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = commsched.compute "b"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @caller(%x: tensor<4xf32>) {
  call @backward(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %f = constant @backward : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
