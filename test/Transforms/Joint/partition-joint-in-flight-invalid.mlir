// Nothing in flight can be saved: what the user says of a start and of its wait
// may contradict each other. A minimum cut and eager saving find out in ways of
// their own; with a mark to compute again, both strategies are the cut.

// RUN: not commsched-opt %s -o /dev/null \
// RUN:   --commsched-partition-joint 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: %fails commsched-opt %s -o /dev/null --commsched-partition-joint=strategy=default "error: 'a' has to be in the forward, but has to be in the backward"

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @dp size(4)

// CUT: error: 's' cannot be computed again, for it has to be in the forward, and is no value that can be saved
// CUT: note: 'a' is computed in the backward
func.func @start_forward_wait_backward(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %s = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.name = "s", commsched.partition = "must_be_forward"}
      : !t -> !future
  %a = commsched.wait %s {commsched.name = "a", commsched.partition = "must_be_backward"} : !future
  %g = commsched.compute "g"(%dy, %a) : (!t, !t) -> !t
  return %x, %g : !t, !t
}
