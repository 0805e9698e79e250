// RUN: %rows %s > %t.mlir
// DEFINE: %{options} = memory-budget=1000000
// DEFINE: %{run} = commsched-test-opt %t.mlir \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory="%{options}" %remarks -o %t

// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,FREE
// RUN: %orders < %t | FileCheck %s --check-prefixes=CHECK,FREE-IR
// REDEFINE: %{options} = memory-budget=1000000 reorder_iterative_unsafe_collectives_reorder=false
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,KEPT
// RUN: %orders < %t | FileCheck %s --check-prefixes=CHECK,KEPT-IR
// REDEFINE: %{options} = memory-budget=1000000 reorder_iterative_group_with_collectives=true
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,GROUP
// RUN: %orders < %t | FileCheck %s --check-prefixes=CHECK,FREE-IR

// What a start does not pass on its way up, and what it does not take along.
// Memory is no matter here.

!b16 = tensor<16xi8>
!f16 = !commsched.future<!b16>
commsched.group @g size(4)
commsched.group @h size(4)

// A start passes those before it, unless told not to.
// REMARK: Function=one_stream
// FREE: Function=one_stream
// FREE-SAME: 'second': its start moves up by 2, limited by nothing
// GROUP: Function=one_stream
// GROUP-SAME: 'second': its start moves up by 2, limited by nothing
// KEPT: Function=one_stream
// KEPT-SAME: 'second': its start moves up by 1, limited by the collective commsched.all_reduce 'first'
// FREE-IR-LABEL: func.func @one_stream(
// FREE-IR-NEXT: // order: second first wait wait{{$}}
// KEPT-IR-LABEL: func.func @one_stream(
// KEPT-IR-NEXT: // order: first second wait wait{{$}}
func.func @one_stream(%x: !b16) -> (!b16, !b16) {
  $run(%w = all_reduce %x on @g reduction(max) {commsched.name = "first"} : !b16 -> !b16)
  $run(%w1 = all_reduce %x on @g reduction(max) {commsched.name = "second"} : !b16 -> !b16)
  return %w, %w1 : !b16, !b16
}

// A send and a receive meet their counterparts on other ranks in the order of
// the program. Together they may move.
// REMARK: Function=point_to_point
// REMARK-SAME: 'send': its start stays, limited by nothing
// FREE: Function=point_to_point
// FREE-SAME: 'recv': its start moves up by 1, limited by order dependence with commsched.send 'send', a collective
// GROUP: Function=point_to_point
// GROUP-SAME: 'recv': its start moves up by 1, with 1 other, limited by nothing
// KEPT: Function=point_to_point
// KEPT-SAME: 'recv': its start moves up by 1, limited by the collective commsched.send 'send'
// CHECK-LABEL: func.func @point_to_point(
// CHECK-NEXT: // order: send recv wait wait{{$}}
func.func @point_to_point(%x: !b16) -> !b16 {
  %f = commsched.send %x on @g to(1) {commsched.name = "send"} : !b16 -> !commsched.future
  commsched.wait %f : !commsched.future
  %f1 = commsched.recv on @g from(1) {commsched.name = "recv"} : !f16
  %w1 = commsched.wait %f1 : !f16
  return %w1 : !b16
}

// A collective that is start and wait in one is not passed, whatever its
// stream, but taken along.
// REMARK: Function=blocking
// GROUP-SAME: its start moves up by 1, with 1 other, limited by nothing
// FREE-SAME: its start moves up by 1, with 1 other, limited by nothing
// KEPT-SAME: its start moves up by 1, limited by the collective commsched.barrier
// CHECK-LABEL: func.func @blocking(
// CHECK-NEXT: // order: barrier ar free wait{{$}}
func.func @blocking(%x: !b16) -> (!b16, !b16) {
  commsched.barrier on @h
  %free = commsched.compute "free"(%x) : (!b16) -> !b16
  $run(%w = all_reduce %x on @g reduction(max) {commsched.name = "ar"} : !b16 -> !b16)
  return %free, %w : !b16, !b16
}

// Communication that no interface describes, and computation of that dialect,
// are taken along like any other.
// REMARK: Function=other_dialect
// REMARK-SAME: its start moves up by 1, with 2 others, limited by nothing
// CHECK-LABEL: func.func @other_dialect(
// CHECK-NEXT: // order: commsched_test.probe commsched_test.work commsched_test.exchange free commsched_test.finish{{$}}
func.func @other_dialect(%x: !b16) -> (!b16, !b16) {
  commsched_test.probe
  %free = commsched.compute "free"(%x) : (!b16) -> !b16
  %y = commsched_test.work 5(%x) : (!b16) -> !b16
  %h = commsched_test.exchange %y over "c" ranks(2) : !b16
  %w = commsched_test.finish %h : !b16
  return %free, %w : !b16, !b16
}
