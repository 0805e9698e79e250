// DEFINE: %{run} = commsched-opt %s %remarks -o /dev/null 2>&1

// RUN: %{run} --commsched-raise-comms | FileCheck %s --check-prefix=RAISE
// RUN: %{run} --commsched-sink-waits | FileCheck %s --check-prefix=SINK
// RUN: %{run} --commsched-order-collectives | FileCheck %s --check-prefix=ORDER
// RUN: %{run} --commsched-reorder-compute-for-overlap | FileCheck %s --check-prefix=OVERLAP

// A remark for every collective: how far it moved, and what holds it. Raised,
// the order is first, second, wait1, wait2, barrier, third, mm1, mm2, mm3, and
// the last wait; sunk, it is mm1, mm2, first, second, mm3, wait1, wait2, and
// then as before.

// RAISE: [Passed] CollectiveMoved | Category:commsched | Function=f
// RAISE-SAME: LimitingFactor=nothing, Moved=2
// RAISE-SAME: commsched.all_reduce 'first': its start moves up by 2, limited by nothing
// RAISE: [Passed] CollectiveMoved
// RAISE-SAME: commsched.all_reduce 'second': its start moves up by 3, limited by commsched.all_reduce 'first' (order)
// RAISE: [Passed] CollectiveMoved
// RAISE-SAME: commsched.barrier: its place moves up by 3, limited by commsched.wait 'wait2' (barrier)
// RAISE: [Passed] CollectiveMoved
// RAISE-SAME: commsched.all_reduce 'third': its start moves up by 3, limited by commsched.barrier (order)
// RAISE-NOT: remark

// SINK: [Passed] CollectiveMoved
// SINK-SAME: commsched.all_reduce 'first': its wait moves down by 2, limited by commsched.barrier (barrier)
// SINK: [Passed] CollectiveMoved
// SINK-SAME: commsched.all_reduce 'second': its wait moves down by 1, limited by commsched.barrier (barrier)
// SINK: [Missed] CollectiveKept
// SINK-SAME: Moved=0
// SINK-SAME: commsched.all_reduce 'third': its wait stays, limited by nothing
// SINK-NOT: remark

// ORDER: [Passed] CollectiveOrdered
// ORDER-SAME: Order=0
// ORDER: Order=1
// ORDER: Order=2
// ORDER: Order=3
// ORDER-NOT: remark

// OVERLAP: 'first': its start moves up by 2
// OVERLAP: 'first': its wait
// OVERLAP: 'second': its start
// OVERLAP: 'second': its wait
// OVERLAP: barrier: its place
// OVERLAP: 'third': its start
// OVERLAP: 'third': its wait
// OVERLAP-NOT: remark

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @g size(2)

func.func @f(%a: !t, %b: !t) -> !t {
  %mm1 = commsched.compute "mm1"(%b) {commsched.runtime_ns = 1} : (!t) -> !t
  %mm2 = commsched.compute "mm2"(%b) {commsched.runtime_ns = 1} : (!t) -> !t
  %first = commsched.all_reduce %a on @g reduction(sum)
      {commsched.name = "first", commsched.runtime_ns = 1} : !t -> !future
  %w1 = commsched.wait %first {commsched.name = "wait1"} : !future
  %second = commsched.all_reduce %b on @g reduction(sum)
      {commsched.name = "second", commsched.runtime_ns = 1} : !t -> !future
  %w2 = commsched.wait %second {commsched.name = "wait2"} : !future
  %mm3 = commsched.compute "mm3"(%mm1) {commsched.runtime_ns = 1} : (!t) -> !t
  commsched.barrier on @g {commsched.runtime_ns = 1}
  %third = commsched.all_reduce %w1 on @g reduction(sum)
      {commsched.name = "third", commsched.runtime_ns = 1} : !t -> !future
  %w3 = commsched.wait %third : !future
  return %mm3 : !t
}
