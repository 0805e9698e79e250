// RUN: commsched-opt %s --commsched-set-costs=slack=0 --commsched-report=format=json -o /dev/null \
// RUN:   --commsched-pipeline-loops="memory-budget=200%%" --commsched-report=format=json | FileCheck %s --check-prefix=FREE
// RUN: commsched-opt %s --commsched-set-costs="slack=0 exclusive-groups" --commsched-pipeline-loops="memory-budget=200%%" \
// RUN:   --commsched-report=format=json -o /dev/null --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=EXCLUSIVE

// A loop inside a step has the contention of the step. Six iterations of 130 ns each
// gather beside the computation of the one before: the first gather, then 70 ns of computation
// and reduction each. Where groups are exclusive, a gather of 60 ns and a reduction of 20 take
// turns: all periods but the last are 80. If gathers travel together, computation is left.
// FREE: "merging_lower_bound_ns":300,
// FREE: "step_time_ns":480,
// EXCLUSIVE-DAG: LoopPipelined | {{.*}}PeriodNsAfter=80, PeriodNsBefore=130, {{.*}}RunNsAfter=530, RunNsBefore=780
// EXCLUSIVE-DAG: "step_time_ns":530,

commsched.group @dp size(8)
commsched.group @all size(16) ranks_per_node(8)
!t = tensor<64xf32>
func.func @step(%x: !t) -> !t {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 6 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%v = %x) -> (!t) {
    %f = commsched.all_reduce %x on @dp reduction(sum) {commsched.runtime_ns = 60} : !t -> !commsched.future<!t>
    %g = commsched.wait %f : !commsched.future<!t>
    %b = commsched.compute "mm"(%v, %g) {commsched.runtime_ns = 50} : (!t, !t) -> !t
    %l = commsched.all_reduce %b on @all reduction(sum) {commsched.runtime_ns = 20} : !t -> !commsched.future<!t>
    %m = commsched.wait %l : !commsched.future<!t>
    scf.yield %m : !t
  }
  return %r : !t
}
