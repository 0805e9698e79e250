// DEFINE: %{options} =
// DEFINE: %{run} = commsched-opt %s \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory="memory-budget=1000000 %{options}" \
// DEFINE:   --remark-policy=all --remark-format=emitRemark \
// DEFINE:   --remarks-filter=commsched -o /dev/null

// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=WITHOUT
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=DEFAULT
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true \
// REDEFINE:   reorder_sink_runtime_estimations_non_comm_mult=2
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=TWICE
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true \
// REDEFINE:   reorder_sink_runtime_estimations_comm_mult=1
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=PLAIN
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true \
// REDEFINE:   reorder_sink_runtime_estimations_comm_mult=1 \
// REDEFINE:   reorder_iterative_extra_comm_comp_overlap=0
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=JUST

// When estimates stop a start on its way up. Memory is no matter here.

!t = tensor<4xi8>
commsched.group @g size(2)

// 10 ns of communication, and 10 ns for each operation in the way. Hidden is
// beside more than 1.5 times 20 ns by default, so that the fourth makes it so.
// It is the second if computation counts twice or communication once, and also
// without a margin: the first hides it, but nothing is left over.
// WITHOUT: Function=hidden
// WITHOUT-SAME: its start moves up by 6, limited by nothing
// DEFAULT: Function=hidden
// DEFAULT-SAME: CommNs=10, ComputeNs=40, ExposedAfterNs=-30, ExposedBeforeNs=10,
// DEFAULT-SAME: its start moves up by 4, limited by estimates: computation hides it
// TWICE: Function=hidden
// TWICE-SAME: its start moves up by 2, limited by estimates: computation hides it
// PLAIN: Function=hidden
// PLAIN-SAME: its start moves up by 2, limited by estimates: computation hides it
// JUST: Function=hidden
// JUST-SAME: its start moves up by 2, limited by estimates: computation hides it
func.func @hidden(%x: !t) -> !t {
  %0 = commsched.compute "a"(%x) {commsched.runtime_ns = 10 : i64} : (!t) -> !t
  %1 = commsched.compute "b"(%0) {commsched.runtime_ns = 10 : i64} : (!t) -> !t
  %2 = commsched.compute "c"(%1) {commsched.runtime_ns = 10 : i64} : (!t) -> !t
  %3 = commsched.compute "d"(%2) {commsched.runtime_ns = 10 : i64} : (!t) -> !t
  %4 = commsched.compute "e"(%3) {commsched.runtime_ns = 10 : i64} : (!t) -> !t
  %5 = commsched.compute "f"(%4) {commsched.runtime_ns = 10 : i64} : (!t) -> !t
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 10 : i64} : !t -> !commsched.future<!t>
  %w = commsched.wait %f : !commsched.future<!t>
  return %w : !t
}
