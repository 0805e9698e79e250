// RUN: commsched-opt %s --allow-unregistered-dialect -o %t.before
// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:   --commsched-reinplace-all-gather \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --implicit-check-not=remark: < %t.remarks

// Gathers that stay out of place, since they do not fit the buffer, or since
// somebody would see it overwritten; nothing changes.

commsched.group @dp size(4)
commsched.group @tp size(4)

// The rank's place in one group is not that in the other.
// CHECK: remark: [Missed] GatherKept | Category:commsched | Function=other_group
// CHECK-SAME: commsched.all_gather 'ag' is not in place: it gathers on @tp, but the slice is one for @dp
func.func @other_group(%a: tensor<4xf32>) -> tensor<16xf32> {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future = commsched.all_gather %slice on @tp dim(0) {commsched.name = "ag"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  return %full : tensor<16xf32>
}

// CHECK: remark: {{.*}} Function=coalesced
// CHECK-SAME: it gathers other tensors along with the slice
func.func @coalesced(%a: tensor<4xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future = commsched.all_gather %a, %slice on @dp dim(0)
      : tensor<4xf32>, tensor<4xf32>
        -> !commsched.future<tensor<16xf32>, tensor<16xf32>>
  %full:2 = commsched.wait %future
      : !commsched.future<tensor<16xf32>, tensor<16xf32>>
  return %full#0, %full#1 : tensor<16xf32>, tensor<16xf32>
}

// CHECK: remark: {{.*}} Function=other_type
// CHECK-SAME: it delivers a tensor<?xf32>, but the buffer is a tensor<16xf32>
func.func @other_type(%a: tensor<?xf32>) -> tensor<?xf32> {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<?xf32> -> tensor<?xf32>, tensor<16xf32>
  %future = commsched.all_gather %slice on @dp dim(0)
      : tensor<?xf32> -> !commsched.future<tensor<?xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<?xf32>>
  return %full : tensor<?xf32>
}

// One buffer for all rounds of the loop, of which each may yield what it has
// gathered.
// CHECK: remark: {{.*}} Function=copy_in_outside_the_loop
// CHECK-SAME: the slice is made in another block
func.func @copy_in_outside_the_loop(%a: tensor<4xf32>, %x: tensor<16xf32>,
                                    %n: index) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x)
      -> tensor<16xf32> {
    %future = commsched.all_gather %slice on @dp dim(0)
        : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
    %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
    scf.yield %full : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}

// CHECK: remark: {{.*}} Function=buffer_read_later
// CHECK-SAME: 'ag' is not in place: reader uses the buffer later
func.func @buffer_read_later(%a: tensor<4xf32>)
    -> (tensor<16xf32>, tensor<16xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future = commsched.all_gather %slice on @dp dim(0) {commsched.name = "ag"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  %r = commsched.compute "reader"(%buffer) : (tensor<16xf32>) -> tensor<16xf32>
  return %full, %r : tensor<16xf32>, tensor<16xf32>
}

// Through a view of the slice, in flight.
// CHECK: remark: {{.*}} Function=view_written_in_flight
// CHECK-SAME: mul_ uses the buffer later
func.func @view_written_in_flight(%a: tensor<4xf32>) -> tensor<16xf32> {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %view = commsched.compute "view"(%slice) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<2x2xf32>
  %future = commsched.all_gather %slice on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  commsched.compute "mul_"(%view) {mutates = array<i64: 0>}
      : (tensor<2x2xf32>) -> ()
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  return %full : tensor<16xf32>
}

// CHECK: remark: {{.*}} Function=read_in_a_region
// CHECK-SAME: scf.if uses the buffer later
func.func @read_in_a_region(%a: tensor<4xf32>, %c: i1)
    -> (tensor<16xf32>, tensor<16xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future = commsched.all_gather %slice on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  %r = scf.if %c -> tensor<16xf32> {
    %s = commsched.compute "s"(%slice) : (tensor<4xf32>) -> tensor<16xf32>
    scf.yield %s : tensor<16xf32>
  } else {
    scf.yield %full : tensor<16xf32>
  }
  return %full, %r : tensor<16xf32>, tensor<16xf32>
}

// What another collective has in flight when the gather starts is used until
// its wait. So is the slice by the gather that comes first here.
// CHECK: remark: {{.*}} Function=in_flight
// CHECK-SAME: 'first' is not in place: commsched.all_gather 'second' uses the buffer later
// CHECK: remark: {{.*}} Function=in_flight
// CHECK-SAME: 'second' is not in place: commsched.wait 'first' uses the buffer later
func.func @in_flight(%a: tensor<4xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future0 = commsched.all_gather %slice on @dp dim(0)
      {commsched.name = "first"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %future1 = commsched.all_gather %slice on @dp dim(0)
      {commsched.name = "second"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %full0 = commsched.wait %future0 {commsched.name = "first"}
      : !commsched.future<tensor<16xf32>>
  %full1 = commsched.wait %future1 {commsched.name = "second"}
      : !commsched.future<tensor<16xf32>>
  return %full0, %full1 : tensor<16xf32>, tensor<16xf32>
}

// CHECK: remark: {{.*}} Function=slice_returned
// CHECK-SAME: the buffer is used outside of the block
func.func @slice_returned(%a: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<16xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future = commsched.all_gather %slice on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  return %slice, %full : tensor<4xf32>, tensor<16xf32>
}

// CHECK: remark: {{.*}} Function=used_in_another_block
// CHECK-SAME: the buffer is used outside of the block
func.func @used_in_another_block(%a: tensor<4xf32>)
    -> (tensor<16xf32>, tensor<16xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future = commsched.all_gather %slice on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  cf.br ^next
^next:
  return %full, %buffer : tensor<16xf32>, tensor<16xf32>
}

// The unknown operation may know the memory from the memref.
// CHECK: remark: {{.*}} Function=memref
// CHECK-SAME: a memref may reach the buffer
func.func @memref(%a: tensor<4xf32>) -> tensor<16xf32> {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %m = bufferization.to_buffer %buffer : tensor<16xf32> to memref<16xf32>
  "foreign.keep"(%m) : (memref<16xf32>) -> ()
  %future = commsched.all_gather %slice on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  "foreign.write"() : () -> ()
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  return %full : tensor<16xf32>
}

// Not gathers of a slice: no remark.
func.func @nothing_to_do(%a: tensor<4xf32>, %out: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<16xf32>, tensor<64xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future0 = commsched.all_gather %slice on @dp dim(0) into %out
      : tensor<4xf32> into tensor<16xf32> -> !commsched.future<tensor<16xf32>>
  %future1 = commsched.all_gather %a on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %future2 = commsched.all_gather %buffer on @dp dim(0)
      : tensor<16xf32> -> !commsched.future<tensor<64xf32>>
  %full0 = commsched.wait %future0 : !commsched.future<tensor<16xf32>>
  %full1 = commsched.wait %future1 : !commsched.future<tensor<16xf32>>
  %full2 = commsched.wait %future2 : !commsched.future<tensor<64xf32>>
  return %full0, %full1, %full2
      : tensor<16xf32>, tensor<16xf32>, tensor<64xf32>
}

func.func private @declaration(tensor<4xf32>)
