// RUN: %rows %s | commsched-opt --commsched-reinplace-all-gather %remarks -o %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: commsched-opt %t --commsched-reinplace-all-gather -o %t.again
// RUN: diff %t %t.again

// Gathers of a copy-in's slice that write the copy-in's buffer.

!part = tensor<4xf32>
!whole = tensor<16xf32>
!future = !commsched.future<!whole>
commsched.group @dp size(4)

// REMARK: remark: [Passed] GatherReinplaced | Category:commsched | Function=one
// REMARK-SAME: Bytes=160,
// REMARK-SAME: commsched.all_gather 'ag' writes the buffer of commsched.all_gather_copy_in 'copy_in'
// CHECK-LABEL: func.func @one(
// CHECK: %[[SLICE:.+]], %[[BUFFER:.+]] = commsched.all_gather_copy_in
// CHECK-NEXT: %[[FUTURE:.+]] = commsched.all_gather %[[SLICE]] on @dp dim(0) into %[[BUFFER]]
// CHECK-SAME: {commsched.name = "ag", commsched.order = 7 : i64}
// CHECK-SAME: : tensor<10xf32> into tensor<40xf32> -> !commsched.future<tensor<40xf32>>
// CHECK-NEXT: commsched.wait %[[FUTURE]]
func.func @one(%a: tensor<2x3xf32>, %b: !part) -> (tensor<8x3xf32>, !whole) {
  %slice, %buffer = commsched.all_gather_copy_in %a, %b on @dp
      {commsched.name = "copy_in"}
      : tensor<2x3xf32>, !part -> tensor<10xf32>, tensor<40xf32>
  $run(%full = all_gather %slice on @dp dim(0) {commsched.name = "ag", commsched.order = 7 : i64}
      : tensor<10xf32> -> tensor<40xf32>)
  %0:2 = commsched.split_with_sizes_copy %full on @dp : tensor<40xf32> -> tensor<8x3xf32>, !whole
  return %0#0, %0#1 : tensor<8x3xf32>, !whole
}

// What uses the buffer before the gather starts does not matter, and neither
// does what becomes of the gathered tensor: it is returned, through a view.
// REMARK: GatherReinplaced | Category:commsched | Function=used_before
// CHECK-LABEL: func.func @used_before(
// CHECK: commsched.all_gather %{{.+}} into
func.func @used_before(%a: !part) -> (!part, tensor<4x4xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : !part -> !part, !whole
  commsched.compute "zero_"(%buffer) {mutates = array<i64: 0>} : (!whole) -> ()
  %early = commsched.compute "sin"(%slice) : (!part) -> !part
  %future = commsched.all_gather %slice on @dp dim(0) : !part -> !future
  %other = commsched.compute "sin"(%early) : (!part) -> !part
  %full = commsched.wait %future : !future
  %view = tensor.expand_shape %full [[0, 1]] output_shape [4, 4] : !whole into tensor<4x4xf32>
  return %other, %view : !part, tensor<4x4xf32>
}

// Two gathers of one slice: the one that starts when the other has been waited
// for. (The first is in reinplace-all-gather-kept.mlir.)
// REMARK: [Missed] GatherKept | {{.*}} | Function=second_of_two
// REMARK-SAME: 'first' is not in place: commsched.all_gather 'second' uses the buffer later
// REMARK: [Passed] GatherReinplaced | {{.*}} | Function=second_of_two
// REMARK-SAME: 'second' writes the buffer
// CHECK-LABEL: func.func @second_of_two(
// CHECK: %[[SLICE:.+]], %[[BUFFER:.+]] = commsched.all_gather_copy_in
// CHECK: commsched.all_gather %[[SLICE]] on @dp dim(0) {commsched.name = "first"}
// CHECK: commsched.all_gather %[[SLICE]] on @dp dim(0) into %[[BUFFER]] {commsched.name = "second"}
func.func @second_of_two(%a: !part) -> (!whole, !whole) {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : !part -> !part, !whole
  $run(%full0 = all_gather %slice on @dp dim(0) {commsched.name = "first"} : !part -> !whole)
  $run(%full1 = all_gather %slice on @dp dim(0) {commsched.name = "second"} : !part -> !whole)
  return %full0, %full1 : !whole, !whole
}

// CHECK-LABEL: func.func @dynamic(
// CHECK: commsched.all_gather %{{.+}} into %{{.+}} : tensor<?xf32> into tensor<?xf32>
func.func @dynamic(%a: tensor<?xf32>) -> tensor<?xf32> {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<?xf32> -> tensor<?xf32>, tensor<?xf32>
  $run(%full = all_gather %slice on @dp dim(0) : tensor<?xf32> -> tensor<?xf32>)
  return %full : tensor<?xf32>
}
