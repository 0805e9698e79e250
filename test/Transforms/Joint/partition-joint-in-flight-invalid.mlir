// Nothing in flight can be saved: what the user says of a start and of its wait
// may contradict each other. A minimum cut and eager saving find out in ways of
// their own; with a mark to compute again, both strategies are the cut.

// RUN: not commsched-opt %s --split-input-file -o /dev/null \
// RUN:   --commsched-partition-joint 2>&1 | FileCheck %s --check-prefixes=BOTH,CUT
// RUN: not commsched-opt %s --split-input-file -o /dev/null \
// RUN:   --commsched-partition-joint=strategy=default 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=BOTH,EAGER

commsched.group @dp size(4)

// BOTH: error: 's' cannot be computed again, for it has to be saved, and is no value that can be saved
// BOTH: note: 'a' has to be computed again
func.func @start_saved_wait_again(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %s = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.name = "s", commsched.recompute = "must_save"}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %a = commsched.wait %s
      {commsched.name = "a", commsched.recompute = "must_recompute"}
      : !commsched.future<tensor<4xf32>>
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %g : tensor<4xf32>, tensor<4xf32>
}

// -----

commsched.group @dp size(4)

// CUT: error: 's' cannot be computed again, for it has to be in the forward, and is no value that can be saved
// CUT: note: 'a' is computed in the backward
// EAGER: error: 'a' has to be in the forward, but has to be in the backward
func.func @start_forward_wait_backward(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %s = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.name = "s", commsched.partition = "must_be_forward"}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %a = commsched.wait %s
      {commsched.name = "a", commsched.partition = "must_be_backward"}
      : !commsched.future<tensor<4xf32>>
  %g = commsched.compute "g"(%dy, %a)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %x, %g : tensor<4xf32>, tensor<4xf32>
}
