// RUN: commsched-opt %s --commsched-schedule %remarks -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t

// With nothing to be gained, a block stays as it is and says so; with buckets
// or without.
// RUN: commsched-opt %t --commsched-schedule=buckets=off -o - | diff %t -

!t = tensor<4xi8>
commsched.group @g size(2)

// Computation that does not need the result hides the collective, and the peak
// stays what it is.
// REMARK: [[@LINE+5]]:1: remark: [Passed] BlockScheduled | Category:commsched | Function=hidden
// REMARK-SAME: BudgetBytes=12, Origin={{[a-z-]+}}, PeakBytesAfter=12, PeakBytesBefore=12,
// REMARK-SAME: the step takes 100 ns instead of 200, and 12 bytes instead of 12, for a budget of 12 ({{[a-z-]+}})
// REMARK-SAME: StepNsAfter=100, StepNsBefore=200
// CHECK-LABEL: func.func @hidden(
func.func @hidden(%x: !t) -> (!t, !t) {
// CHECK: commsched.all_reduce
// CHECK-NEXT: compute "long"
// CHECK-NEXT: commsched.wait
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.runtime_ns = 100}
      : !t -> !commsched.future<!t>
  %w = commsched.wait %f : !commsched.future<!t>
  %c = commsched.compute "long"(%x) {commsched.runtime_ns = 100} : (!t) -> !t
  return %w, %c : !t, !t
}

// REMARK: [[@LINE+6]]:1: remark: [Missed] BlockKept | Category:commsched | Function=nothing_to_hide
// REMARK-SAME: not reordered: no better schedule is known than the program's, which takes 150 ns and 12 bytes, for a budget of 12
// REMARK: CollectiveExposed | Category:commsched | Function=nothing_to_hide | ExposedNs=100, Reason=nothing-left,
// CHECK-LABEL: func.func @nothing_to_hide(
// CHECK-NOT: baseline
// CHECK-NEXT: commsched.all_reduce
func.func @nothing_to_hide(%x: !t) -> !t {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.runtime_ns = 100}
      : !t -> !commsched.future<!t>
  %w = commsched.wait %f : !commsched.future<!t>
  %c = commsched.compute "next"(%w) {commsched.runtime_ns = 50} : (!t) -> !t
  return %c : !t
}

// Without collectives there is nothing to say.
// REMARK-NOT: Function=no_collective
func.func @no_collective(%x: !t) -> !t {
  %c = commsched.compute "alone"(%x) : (!t) -> !t
  return %c : !t
}

// REMARK-NOT: remark:
