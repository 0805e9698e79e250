// RUN: commsched-opt %s --commsched-frontier="memory-budget=1000000 file=%t.csv" \
// RUN:   --commsched-schedule=memory-budget=1000000 %remarks -o %t 2> %t.remarks
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: FileCheck %s --check-prefix=FRONTIER < %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=CSV --match-full-lines \
// RUN:   --implicit-check-not=nested --implicit-check-not=several < %t.csv

// Every block that holds collectives is scheduled by itself. One inside of an
// operation may take what the budget leaves beside what is live around, and has
// no part in the frontier.

!t = tensor<4xi8>
commsched.group @g size(2)

// REMARK: [[@LINE+8]]:3: remark: [Passed] BlockScheduled | Category:commsched | Function=nested
// REMARK-SAME: for a budget of 999996 (
// CHECK-LABEL: func.func @nested(
// CHECK: commsched.all_reduce
// CHECK-NEXT: compute "long"
// CHECK-NEXT: commsched.wait
// CSV: function,budget_bytes,peak_bytes,step_time_ns,lower_bound_ns,exposed_comm_ns,num_collectives
func.func @nested(%c: i1, %x: !t) {
  scf.if %c {
    %f = commsched.all_reduce %x on @g reduction(max)
        {commsched.runtime_ns = 100} : !t -> !commsched.future<!t>
    %w = commsched.wait %f : !commsched.future<!t>
    %l = commsched.compute "long"(%x) {commsched.runtime_ns = 100} : (!t) -> !t
    %s = commsched.compute "sum"(%w, %l) {commsched.runtime_ns = 1} : (!t, !t) -> !t
    commsched.compute "write"(%x, %s)
        {commsched.runtime_ns = 1, mutates = array<i64: 0>} : (!t, !t) -> !t
  }
  return
}

// One of several of a body neither.
// FRONTIER: remark: [Missed] BlockNotInFrontier | Category:commsched | Function=nested
// FRONTIER: remark: [Missed] BlockNotInFrontier | Category:commsched | Function=several
// CHECK-LABEL: func.func @several(
// CHECK: commsched.all_reduce
// CHECK-NEXT: compute "long"
// CHECK-NEXT: commsched.wait
func.func @several(%x: !t) -> !t {
  cf.br ^body
^body:
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.runtime_ns = 100}
      : !t -> !commsched.future<!t>
  %w = commsched.wait %f : !commsched.future<!t>
  %l = commsched.compute "long"(%x) {commsched.runtime_ns = 100} : (!t) -> !t
  %s = commsched.compute "sum"(%w, %l) {commsched.runtime_ns = 1} : (!t, !t) -> !t
  return %s : !t
}
