// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-order-collectives > %t
// RUN: grep "order = " %t | not grep -vE "commsched.order = ([0-9]+) : i64.* test.order = \1 : i64"
// RUN: %orders < %t | FileCheck %s

// commsched-order-collectives gives the numbers that collectives are marked with, and
// moves nothing.

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @g size(2)
commsched.group @h size(2)

// Fixing the order of collectives moves nothing: three averages with waits in
// the opposite order stay exactly as they are.
// CHECK: // order: ar1 ar2 ar3 w3 w2 w1{{$}}
func.func @order_without_scheduling(%a: !t, %b: !t, %c: !t) -> (!t, !t, !t) {
  %ar1 = commsched.all_reduce %a on @g reduction(avg)
      {commsched.name = "ar1", commsched.runtime_ns = 1 : i64, test.order = 0} : !t -> !future
  %ar2 = commsched.all_reduce %b on @g reduction(avg)
      {commsched.name = "ar2", commsched.runtime_ns = 1 : i64, test.order = 1} : !t -> !future
  %ar3 = commsched.all_reduce %c on @g reduction(avg)
      {commsched.name = "ar3", commsched.runtime_ns = 1 : i64, test.order = 2} : !t -> !future
  %w3 = commsched.wait %ar3 {commsched.name = "w3"} : !future
  %w2 = commsched.wait %ar2 {commsched.name = "w2"} : !future
  %w1 = commsched.wait %ar1 {commsched.name = "w1"} : !future
  return %w1, %w2, %w3 : !t, !t, !t
}

// One count for all groups, blocking collectives included.
func.func @one_count_for_all_groups(%a: !t) {
  %f = commsched.all_reduce %a on @h reduction(sum) {test.order = 0} : !t -> !future
  commsched.barrier on @g {test.order = 1}
  %f2 = commsched.all_reduce %a on @g reduction(sum) {test.order = 2} : !t -> !future
  %w = commsched.wait %f : !future
  %w2 = commsched.wait %f2 : !future
  return
}

// Each block counts from 0.
func.func @each_block_counts(%c: i1) {
  commsched.barrier on @g {test.order = 0}
  scf.if %c {
    commsched.barrier on @h {test.order = 0}
    commsched.barrier on @g {test.order = 1}
  }
  commsched.barrier on @h {test.order = 1}
  return
}

// A complete order is left as it is, whatever its numbers.
func.func @numbered_already() {
  commsched.barrier on @g {commsched.order = 7 : i64, test.order = 7}
  commsched.barrier on @h {commsched.order = 12 : i64, test.order = 12}
  return
}

// An incomplete one is numbered anew.
func.func @numbered_in_part() {
  commsched.barrier on @g {commsched.order = 7 : i64, test.order = 0}
  commsched.barrier on @h {test.order = 1}
  commsched.barrier on @g {commsched.order = 12 : i64, test.order = 2}
  return
}
