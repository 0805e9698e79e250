// RUN: commsched-opt %s --commsched-enforce-fsdp-order --remark-policy=all \
// RUN:   --remark-format=emitRemark --remarks-filter=commsched -o %t 2>&1 \
// RUN:   | FileCheck %s
// RUN: FileCheck %s --check-prefix=ORDER < %t

// A remark for every group, and one for what could not be had, which leaves the
// rest as it would be without.

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
// ORDER-NEXT: "copy_in1"
// ORDER-NEXT: "fill1"
// ORDER-NEXT: "gather1"
// ORDER-NEXT: "wait1"
// ORDER-NEXT: "scale1"
// ORDER-NEXT: "copy_out1"
// ORDER-NEXT: "cast2"
// ORDER-NEXT: "copy_in2"
// ORDER-NEXT: "gather2"
// ORDER-NEXT: "wait2"
// ORDER-NEXT: return
func.func @split(%p1: tensor<4xbf16>, %p2: tensor<4xf32>)
    -> (tensor<8xbf16>, tensor<8xbf16>) {
  %s1, %o1 = commsched.all_gather_copy_in %p1 on @dp
      {commsched.name = "copy_in1"}
      : tensor<4xbf16> -> tensor<4xbf16>, tensor<8xbf16>
  %filled = commsched.compute "fill1"(%o1) {mutates = array<i64: 0>}
      : (tensor<8xbf16>) -> tensor<1xi1>
  %g1 = commsched.all_gather %s1 on @dp dim(0) into %o1
      {commsched.name = "gather1"} : tensor<4xbf16> into tensor<8xbf16>
      -> !commsched.future<tensor<8xbf16>>
  %c2 = commsched.compute "cast2"(%p2) : (tensor<4xf32>) -> tensor<4xbf16>
  %s2, %o2 = commsched.all_gather_copy_in %c2 on @dp
      {commsched.name = "copy_in2"}
      : tensor<4xbf16> -> tensor<4xbf16>, tensor<8xbf16>
  %g2 = commsched.all_gather %s2 on @dp dim(0) into %o2
      {commsched.name = "gather2"} : tensor<4xbf16> into tensor<8xbf16>
      -> !commsched.future<tensor<8xbf16>>
  %w1 = commsched.wait %g1 {commsched.name = "wait1"}
      : !commsched.future<tensor<8xbf16>>
  %scaled = commsched.compute "scale1"(%w1)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<8xbf16>) -> tensor<8xbf16>
  %f1 = commsched.split_with_sizes_copy %w1 on @dp
      {commsched.name = "copy_out1"} : tensor<8xbf16> -> tensor<8xbf16>
  %w2 = commsched.wait %g2 {commsched.name = "wait2"}
      : !commsched.future<tensor<8xbf16>>
  return %f1, %w2 : tensor<8xbf16>, tensor<8xbf16>
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
// ORDER-NEXT: "copy_in1"
// ORDER-NEXT: "gather1"
// ORDER-NEXT: "copy_in2"
// ORDER-NEXT: "gather2"
// ORDER-NEXT: "compute"
// ORDER-NEXT: commsched.barrier
// ORDER-NEXT: "wait1"
// ORDER-NEXT: "wait2"
// ORDER-NEXT: return
func.func @order_kept(%p1: tensor<4xbf16>, %p2: tensor<4xbf16>)
    -> (tensor<8xbf16>, tensor<8xbf16>, tensor<4xbf16>) {
  %s1, %o1 = commsched.all_gather_copy_in %p1 on @dp
      {commsched.name = "copy_in1"}
      : tensor<4xbf16> -> tensor<4xbf16>, tensor<8xbf16>
  %g1 = commsched.all_gather %s1 on @dp dim(0) into %o1
      {commsched.name = "gather1"} : tensor<4xbf16> into tensor<8xbf16>
      -> !commsched.future<tensor<8xbf16>>
  %s2, %o2 = commsched.all_gather_copy_in %p2 on @dp
      {commsched.name = "copy_in2"}
      : tensor<4xbf16> -> tensor<4xbf16>, tensor<8xbf16>
  %x = commsched.compute "compute"(%p1) : (tensor<4xbf16>) -> tensor<4xbf16>
  %g2 = commsched.all_gather %s2 on @dp dim(0) into %o2
      {commsched.name = "gather2"} : tensor<4xbf16> into tensor<8xbf16>
      -> !commsched.future<tensor<8xbf16>>
  commsched.barrier on @dp
  %w1 = commsched.wait %g1 {commsched.name = "wait1"}
      : !commsched.future<tensor<8xbf16>>
  %w2 = commsched.wait %g2 {commsched.name = "wait2"}
      : !commsched.future<tensor<8xbf16>>
  return %w1, %w2, %x : tensor<8xbf16>, tensor<8xbf16>, tensor<4xbf16>
}

// What is written in place before the copy-out is not what the gather gives.
// CHECK: [Passed] FsdpGroupFormed | Category:commsched | Function=written
// CHECK-SAME: StartMembers=2, WaitMembers=1
// CHECK-NOT: remark
// ORDER-LABEL: func.func @written(
func.func @written(%p: tensor<4xbf16>) -> tensor<8xbf16> {
  %s, %o = commsched.all_gather_copy_in %p on @dp
      : tensor<4xbf16> -> tensor<4xbf16>, tensor<8xbf16>
  %g = commsched.all_gather %s on @dp dim(0) into %o
      : tensor<4xbf16> into tensor<8xbf16> -> !commsched.future<tensor<8xbf16>>
  %w = commsched.wait %g : !commsched.future<tensor<8xbf16>>
  %scaled = commsched.compute "scale"(%w)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<8xbf16>) -> tensor<8xbf16>
  %f = commsched.split_with_sizes_copy %scaled on @dp
      : tensor<8xbf16> -> tensor<8xbf16>
  return %f : tensor<8xbf16>
}

// No remark where nothing is FSDP.
func.func @other(%x: tensor<4xbf16>) -> tensor<8xbf16> {
  %g = commsched.all_gather %x on @dp dim(0)
      : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %w = commsched.wait %g : !commsched.future<tensor<8xbf16>>
  return %w : tensor<8xbf16>
}
