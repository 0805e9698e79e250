// RUN: %rows %s | commsched-opt --commsched-enforce-fsdp-order %remarks -o %t 2>&1 | FileCheck %s
// RUN: %orders < %t | FileCheck %s --check-prefix=ORDER

// A remark for every group, and one for what could not be had, which leaves the
// rest as it would be without.

!part = tensor<4xbf16>
!whole = tensor<8xbf16>
!future = !commsched.future<!whole>
commsched.group @dp size(2)

// Two writes into buffers have to run between copy-in and gather, and between
// wait and copy-out; the second gather starts after the first copy-out all the
// same.
// CHECK: [Missed] FsdpGroupSplit | Category:commsched | Function=split
// CHECK-SAME: commsched.all_gather 'gather1': commsched.all_gather_copy_in 'copy_in1' and commsched.all_gather 'gather1' are not put together, as fill1 has to run between them
// CHECK: [Missed] FsdpGroupSplit
// CHECK-SAME: commsched.all_gather 'gather1': commsched.wait 'wait1' and commsched.split_with_sizes_copy 'copy_out1' are not put together, as scale1 has to run between them
// CHECK: [Passed] FsdpGroupFormed
// CHECK-SAME: commsched.all_gather 'gather2': its start stands together with 2 operation(s), its wait with 0
// CHECK-SAME: StartMembers=3, WaitMembers=1
// ORDER-LABEL: func.func @split(
// ORDER-NEXT: // order: copy_in1 fill1 gather1 wait1 scale1 copy_out1 cast2 copy_in2 gather2 wait2{{$}}
func.func @split(%p1: !part, %p2: tensor<4xf32>) -> (!whole, !whole) {
  %s1, %o1 = commsched.all_gather_copy_in %p1 on @dp
      {commsched.name = "copy_in1"} : !part -> !part, !whole
  %filled = commsched.compute "fill1"(%o1) {mutates = array<i64: 0>} : (!whole) -> tensor<1xi1>
  %g1 = commsched.all_gather %s1 on @dp dim(0) into %o1
      {commsched.name = "gather1"} : !part into !whole -> !future
  %c2 = commsched.compute "cast2"(%p2) : (tensor<4xf32>) -> !part
  %s2, %o2 = commsched.all_gather_copy_in %c2 on @dp
      {commsched.name = "copy_in2"} : !part -> !part, !whole
  %g2 = commsched.all_gather %s2 on @dp dim(0) into %o2
      {commsched.name = "gather2"} : !part into !whole -> !future
  %w1 = commsched.wait %g1 {commsched.name = "wait1"} : !future
  %scaled = commsched.compute "scale1"(%w1)
      {alias = 0 : i64, mutates = array<i64: 0>} : (!whole) -> !whole
  %f1 = commsched.split_with_sizes_copy %w1 on @dp {commsched.name = "copy_out1"} : !whole -> !whole
  %w2 = commsched.wait %g2 {commsched.name = "wait2"} : !future
  return %f1, %w2 : !whole, !whole
}

// Nothing crosses the barrier: the second gather has to start before the first
// wait.
// CHECK: [Passed] FsdpGroupFormed | Category:commsched | Function=order_kept
// CHECK-SAME: commsched.all_gather 'gather1'
// CHECK: [Passed] FsdpGroupFormed
// CHECK-SAME: commsched.all_gather 'gather2'
// CHECK: [Missed] FsdpOrderKept
// CHECK-SAME: commsched.all_gather 'gather2' does not start after the wait for commsched.all_gather 'gather1', which has to come behind it
// ORDER-LABEL: func.func @order_kept(
// ORDER-NEXT: // order: copy_in1 gather1 copy_in2 gather2 compute barrier wait1 wait2{{$}}
func.func @order_kept(%p1: !part, %p2: !part) -> (!whole, !whole, !part) {
  %s1, %o1 = commsched.all_gather_copy_in %p1 on @dp
      {commsched.name = "copy_in1"} : !part -> !part, !whole
  %g1 = commsched.all_gather %s1 on @dp dim(0) into %o1
      {commsched.name = "gather1"} : !part into !whole -> !future
  %s2, %o2 = commsched.all_gather_copy_in %p2 on @dp
      {commsched.name = "copy_in2"} : !part -> !part, !whole
  %x = commsched.compute "compute"(%p1) : (!part) -> !part
  %g2 = commsched.all_gather %s2 on @dp dim(0) into %o2
      {commsched.name = "gather2"} : !part into !whole -> !future
  commsched.barrier on @dp
  %w1 = commsched.wait %g1 {commsched.name = "wait1"} : !future
  %w2 = commsched.wait %g2 {commsched.name = "wait2"} : !future
  return %w1, %w2, %x : !whole, !whole, !part
}

// What is written in place before the copy-out is not what the gather gives.
// CHECK: [Passed] FsdpGroupFormed | Category:commsched | Function=written
// CHECK-SAME: StartMembers=2, WaitMembers=1
// CHECK-NOT: remark
// ORDER-LABEL: func.func @written(
func.func @written(%p: !part) -> !whole {
  %s, %o = commsched.all_gather_copy_in %p on @dp : !part -> !part, !whole
  $run(%w = all_gather %s on @dp dim(0) into %o : !part into !whole -> !whole)
  %scaled = commsched.compute "scale"(%w)
      {alias = 0 : i64, mutates = array<i64: 0>} : (!whole) -> !whole
  %f = commsched.split_with_sizes_copy %scaled on @dp : !whole -> !whole
  return %f : !whole
}

// No remark where nothing is FSDP.
func.func @other(%x: !part) -> !whole {
  $run(%w = all_gather %x on @dp dim(0) : !part -> !whole)
  return %w : !whole
}
