// DEFINE: %{run} = commsched-opt %s %remarks -o /dev/null --commsched-set-costs=

// RUN: %{run} --commsched-schedule 2>&1 | FileCheck %s --check-prefix=FREE
// RUN: %{run}exclusive-groups --commsched-schedule 2>&1 | FileCheck %s --check-prefix=EXCLUSIVE
// RUN: %{run}link-sharing --commsched-schedule 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: %{run}compute-slowdown=0.5 --commsched-schedule 2>&1 | FileCheck %s --check-prefix=SLOWDOWN

// What runs at once takes from each other, as the module says: computation beside
// a collective gets two thirds of its time done.

!t = tensor<4xi8>
commsched.group @one size(2)
commsched.group @two size(2)

// Both collectives run at once, beside computation.
// FREE-NOT: UnknownContention
// FREE: Function=two_groups
// FREE-SAME: takes 100 ns and
// EXCLUSIVE: Function=two_groups
// EXCLUSIVE-SAME: takes 200 ns and
// LINK: Function=two_groups
// LINK-SAME: takes 200 ns and
// SLOWDOWN: Function=two_groups
// SLOWDOWN-SAME: takes 134 ns and
func.func @two_groups(%x: !t) -> (!t, !t, !t) {
  %f = commsched.all_reduce %x on @one reduction(max)
      {commsched.runtime_ns = 100 : i64} : !t -> !commsched.future<!t>
  %g = commsched.all_reduce %x on @two reduction(max)
      {commsched.runtime_ns = 100 : i64} : !t -> !commsched.future<!t>
  %c = commsched.compute "c"(%x) {commsched.runtime_ns = 100 : i64} : (!t) -> !t
  %v = commsched.wait %f : !commsched.future<!t>
  %w = commsched.wait %g : !commsched.future<!t>
  return %v, %w, %c : !t, !t, !t
}
