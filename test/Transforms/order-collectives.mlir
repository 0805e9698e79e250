// RUN: commsched-opt %s --commsched-order-collectives | FileCheck %s

// commsched-order-collectives numbers, and moves nothing.

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @g size(2)
commsched.group @h size(2)

// Fixing the order of collectives moves nothing: three averages with waits in
// the opposite order stay exactly as they are.
// CHECK-LABEL: func.func @order_without_scheduling(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar1", commsched.order = 0 : i64
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar2", commsched.order = 1 : i64
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar3", commsched.order = 2 : i64
// CHECK-NEXT: commsched.wait {{.*}}"w3"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: return
func.func @order_without_scheduling(%a: !t, %b: !t, %c: !t) -> (!t, !t, !t) {
  %ar1 = commsched.all_reduce %a on @g reduction(avg)
      {commsched.name = "ar1", commsched.runtime_ns = 1 : i64} : !t -> !future
  %ar2 = commsched.all_reduce %b on @g reduction(avg)
      {commsched.name = "ar2", commsched.runtime_ns = 1 : i64} : !t -> !future
  %ar3 = commsched.all_reduce %c on @g reduction(avg)
      {commsched.name = "ar3", commsched.runtime_ns = 1 : i64} : !t -> !future
  %w3 = commsched.wait %ar3 {commsched.name = "w3"} : !future
  %w2 = commsched.wait %ar2 {commsched.name = "w2"} : !future
  %w1 = commsched.wait %ar1 {commsched.name = "w1"} : !future
  return %w1, %w2, %w3 : !t, !t, !t
}

// One count for all groups, blocking collectives included.
// CHECK-LABEL: func.func @one_count_for_all_groups(
// CHECK-NEXT: all_reduce {{.*}} on @h {{.*}}commsched.order = 0 : i64
// CHECK-NEXT: barrier on @g {commsched.order = 1 : i64}
// CHECK-NEXT: all_reduce {{.*}} on @g {{.*}}commsched.order = 2 : i64
func.func @one_count_for_all_groups(%a: !t) {
  %f = commsched.all_reduce %a on @h reduction(sum) : !t -> !future
  commsched.barrier on @g
  %f2 = commsched.all_reduce %a on @g reduction(sum) : !t -> !future
  %w = commsched.wait %f : !future
  %w2 = commsched.wait %f2 : !future
  return
}

// Each block counts from 0.
// CHECK-LABEL: func.func @each_block_counts(
// CHECK: barrier on @g {commsched.order = 0 : i64}
// CHECK: scf.if
// CHECK-NEXT: barrier on @h {commsched.order = 0 : i64}
// CHECK-NEXT: barrier on @g {commsched.order = 1 : i64}
// CHECK: barrier on @h {commsched.order = 1 : i64}
func.func @each_block_counts(%c: i1) {
  commsched.barrier on @g
  scf.if %c {
    commsched.barrier on @h
    commsched.barrier on @g
  }
  commsched.barrier on @h
  return
}

// A complete order is left as it is, whatever its numbers.
// CHECK-LABEL: func.func @numbered_already(
// CHECK: barrier on @g {commsched.order = 7 : i64}
// CHECK: barrier on @h {commsched.order = 12 : i64}
func.func @numbered_already() {
  commsched.barrier on @g {commsched.order = 7 : i64}
  commsched.barrier on @h {commsched.order = 12 : i64}
  return
}

// An incomplete one is numbered anew.
// CHECK-LABEL: func.func @numbered_in_part(
// CHECK: barrier on @g {commsched.order = 0 : i64}
// CHECK: barrier on @h {commsched.order = 1 : i64}
// CHECK: barrier on @g {commsched.order = 2 : i64}
func.func @numbered_in_part() {
  commsched.barrier on @g {commsched.order = 7 : i64}
  commsched.barrier on @h
  commsched.barrier on @g {commsched.order = 12 : i64}
  return
}
