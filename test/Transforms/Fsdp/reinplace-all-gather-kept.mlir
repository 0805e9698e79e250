// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -split-input-file --allow-unregistered-dialect -o %t.before
// RUN: commsched-opt %t.mlir -split-input-file --allow-unregistered-dialect \
// RUN:   -verify-diagnostics --commsched-reinplace-all-gather -o %t.after %remarks
// RUN: diff %t.before %t.after

// Gathers that stay out of place, since they do not fit the buffer, or since
// somebody would see it overwritten; nothing changes.

!part = tensor<4xf32>
!whole = tensor<16xf32>
!future = !commsched.future<!whole>
commsched.group @dp size(4)
commsched.group @tp size(4)

func.func private @declaration(!part)

func.func @row(%a: !part, %x: !whole, %d: tensor<?xf32>, %n: index) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp : !part -> !part, !whole
  ROW
  return
}

// -----

  // The rank's place in one group is not that in the other.
  // expected-remark-re@below {{[Missed] GatherKept | Category:commsched | Function=row | {{.*}}commsched.all_gather 'ag' is not in place: it gathers on @tp, but the slice is one for @dp}}
  %future = commsched.all_gather %slice on @tp dim(0) {commsched.name = "ag"} : !part -> !future
  %full = commsched.wait %future : !future

  // expected-remark@below {{it gathers other tensors along with the slice}}
  %future = commsched.all_gather %a, %slice on @dp dim(0)
      : !part, !part -> !commsched.future<!whole, !whole>
  %full:2 = commsched.wait %future : !commsched.future<!whole, !whole>

  %part, %rest = commsched.all_gather_copy_in %d on @dp : tensor<?xf32> -> tensor<?xf32>, !whole
  // expected-remark@below {{it delivers a tensor<?xf32>, but the buffer is a tensor<16xf32>}}
  %future = commsched.all_gather %part on @dp dim(0) : tensor<?xf32> -> !commsched.future<tensor<?xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<?xf32>>

  // One buffer for all rounds of the loop, of which each may yield what it has
  // gathered.
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> !whole {
    // expected-remark@below {{the slice is made in another block}}
    $run(%full = all_gather %slice on @dp dim(0) : !part -> !whole)
    scf.yield %full : !whole
  }

  // What another collective has in flight when the gather starts is used until
  // its wait. So is the slice by the gather that comes first here.
  // expected-remark@below {{'first' is not in place: commsched.all_gather 'second' uses the buffer later}}
  %future0 = commsched.all_gather %slice on @dp dim(0) {commsched.name = "first"} : !part -> !future
  // expected-remark@below {{'second' is not in place: commsched.wait 'first' uses the buffer later}}
  %future1 = commsched.all_gather %slice on @dp dim(0) {commsched.name = "second"} : !part -> !future
  %full0 = commsched.wait %future0 {commsched.name = "first"} : !future
  %full1 = commsched.wait %future1 {commsched.name = "second"} : !future

  // The unknown operation may know the memory from the memref.
  %m = bufferization.to_buffer %buffer : !whole to memref<16xf32>
  "foreign.keep"(%m) : (memref<16xf32>) -> ()
  // expected-remark@below {{a memref may reach the buffer}}
  %future = commsched.all_gather %slice on @dp dim(0) : !part -> !future
  "foreign.write"() : () -> ()
  %full = commsched.wait %future : !future

  // Not gathers of a slice: no remark.
  %future0 = commsched.all_gather %slice on @dp dim(0) into %x : !part into !whole -> !future
  %future1 = commsched.all_gather %a on @dp dim(0) : !part -> !future
  %future2 = commsched.all_gather %buffer on @dp dim(0)
      : !whole -> !commsched.future<tensor<64xf32>>
  %full0 = commsched.wait %future0 : !future
  %full1 = commsched.wait %future1 : !future
  %full2 = commsched.wait %future2 : !commsched.future<tensor<64xf32>>

// -----

!part = tensor<4xf32>
!whole = tensor<16xf32>
!future = !commsched.future<!whole>
commsched.group @dp size(4)

func.func @row(%a: !part, %c: i1) -> (!whole, !whole) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp : !part -> !part, !whole
  %view = commsched.compute "view"(%slice) {alias = 0 : i64} : (!part) -> tensor<2x2xf32>
  %future = commsched.all_gather %slice on @dp dim(0) {commsched.name = "ag"} : !part -> !future
  ROW
}

// -----

  // expected-remark@-1 {{'ag' is not in place: reader uses the buffer later}}
  %full = commsched.wait %future : !future
  %r = commsched.compute "reader"(%buffer) : (!whole) -> !whole
  return %full, %r : !whole, !whole

  // Through a view of the slice, in flight.
  // expected-remark@-2 {{mul_ uses the buffer later}}
  commsched.compute "mul_"(%view) {mutates = array<i64: 0>} : (tensor<2x2xf32>) -> ()
  %full = commsched.wait %future : !future
  return %full, %full : !whole, !whole

  // expected-remark@-1 {{scf.if uses the buffer later}}
  %full = commsched.wait %future : !future
  %r = scf.if %c -> !whole {
    %s = commsched.compute "s"(%slice) : (!part) -> !whole
    scf.yield %s : !whole
  } else {
    scf.yield %full : !whole
  }
  return %full, %r : !whole, !whole

  // expected-remark@-1 {{the buffer is used outside of the block}}
  %full = commsched.wait %future : !future
  return %buffer, %full : !whole, !whole

  // expected-remark@-1 {{the buffer is used outside of the block}}
  %full = commsched.wait %future : !future
  cf.br ^next
  ^next:
  return %full, %buffer : !whole, !whole
