// RUN: commsched-test-opt %s --allow-unregistered-dialect --test-merge-collectives | FileCheck %s

// A copy-in reads what is cast later than the cast did. Where that would be
// another value, or might, the cast stays.

commsched.group @dp size(4)

// Written, or passed on to whatever may write it, before the cast or after the
// bucket.
// CHECK-LABEL: func.func @written_elsewhere(
// CHECK-SAME: %[[A:.+]]: tensor<2xf32>, %[[B:.+]]: tensor<2xf32>,
// CHECK: commsched.compute "aten.add_"(%[[B]])
// CHECK-NEXT: commsched.all_gather_copy_in %[[A]], %[[B]] on
// CHECK: commsched.compute "aten.add_"(%[[A]])
func.func @written_elsewhere(%a: tensor<2xf32>, %b: tensor<2xf32>, %p: i1) -> (tensor<8xbf16>, tensor<8xbf16>) {
  commsched.compute "aten.add_"(%b) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<2xf32>) -> tensor<2xbf16>
  %cb = commsched.compute "aten._to_copy"(%b) : (tensor<2xf32>) -> tensor<2xbf16>
  %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  commsched.compute "aten.add_"(%a) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %s = arith.select %p, %a, %b : tensor<2xf32>
  commsched.compute "aten.add_"(%s) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  return %2, %3 : tensor<8xbf16>, tensor<8xbf16>
}

// CHECK-LABEL: func.func @written_between(
// CHECK-SAME: %[[A:.+]]: tensor<2xf32>, %[[B:.+]]: tensor<2xf32>)
// CHECK: %[[CAST:.+]] = commsched.compute "aten._to_copy"(%[[A]])
// CHECK: commsched.all_gather_copy_in %[[CAST]], %[[B]] on
func.func @written_between(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<8xbf16>, tensor<8xbf16>) {
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<2xf32>) -> tensor<2xbf16>
  %cb = commsched.compute "aten._to_copy"(%b) : (tensor<2xf32>) -> tensor<2xbf16>
  commsched.compute "aten.add_"(%a) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  return %2, %3 : tensor<8xbf16>, tensor<8xbf16>
}

// Both casts read views of one tensor, which a third view, in a region, writes.
// CHECK-LABEL: func.func @written_through_views(
// CHECK-COUNT-2: commsched.compute "aten._to_copy"
func.func @written_through_views(%x: tensor<2x2xf32>, %n: index) -> (tensor<8xbf16>, tensor<4xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<2xf32>
  %b = commsched.compute "aten.view"(%x) {alias = 0 : i64} : (tensor<2x2xf32>) -> tensor<1xf32>
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<2xf32>) -> tensor<2xbf16>
  %cb = commsched.compute "aten._to_copy"(%b) : (tensor<1xf32>) -> tensor<1xbf16>
  scf.for %i = %c0 to %n step %c1 {
    %c = tensor.collapse_shape %x [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
    commsched.compute "aten.add_"(%c) {mutates = array<i64: 0>} : (tensor<4xf32>) -> ()
  }
  %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %cb on @dp dim(0) : tensor<1xbf16> -> !commsched.future<tensor<4xbf16>>
  %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<4xbf16>>
  return %2, %3 : tensor<8xbf16>, tensor<4xbf16>
}

// CHECK-LABEL: func.func @written_by_a_collective(
// CHECK-SAME: %[[A:.+]]: tensor<2xf32>, %[[B:.+]]: tensor<2xf32>)
// CHECK: %[[CAST:.+]] = commsched.compute "aten._to_copy"(%[[A]])
// CHECK: commsched.all_gather_copy_in %[[CAST]], %[[B]] on
func.func @written_by_a_collective(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<8xbf16>, tensor<8xbf16>, tensor<2xf32>) {
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<2xf32>) -> tensor<2xbf16>
  %cb = commsched.compute "aten._to_copy"(%b) : (tensor<2xf32>) -> tensor<2xbf16>
  %f = commsched.all_reduce %b on @dp reduction(sum) into %a : tensor<2xf32> into tensor<2xf32> -> !commsched.future<tensor<2xf32>>
  %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  %4 = commsched.wait %f : !commsched.future<tensor<2xf32>>
  return %2, %3, %4 : tensor<8xbf16>, tensor<8xbf16>, tensor<2xf32>
}

// What a collective wrote in place, memory, a callee's argument, what a select
// and a branch pass on, and what they have passed on.
// CHECK-LABEL: func.func @unknown(
// CHECK: %[[A:.+]] = commsched.compute "aten._to_copy"
// CHECK: %[[B:.+]] = commsched.compute "aten._to_copy"
// CHECK: %[[C:.+]] = commsched.compute "aten._to_copy"
// CHECK: %[[D:.+]] = commsched.compute "aten._to_copy"
// CHECK: %[[E:.+]] = commsched.compute "aten._to_copy"
// CHECK: %[[F:.+]] = commsched.compute "aten._to_copy"
// CHECK: commsched.all_gather_copy_in %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]] on
func.func private @callee(tensor<2xf32>)
func.func @unknown(%v: tensor<2xf32>, %w: tensor<2xf32>, %x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>,
                   %m: memref<2xf32>, %p: i1) {
  %0 = commsched.all_reduce %v on @dp reduction(sum) into %w : tensor<2xf32> into tensor<2xf32> -> !commsched.future<tensor<2xf32>>
  %a = commsched.wait %0 : !commsched.future<tensor<2xf32>>
  %b = bufferization.to_tensor %m restrict : memref<2xf32> to tensor<2xf32>
  %c = arith.select %p, %v, %w : tensor<2xf32>
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<2xf32>) -> tensor<2xbf16>
  %cb = commsched.compute "aten._to_copy"(%b) : (tensor<2xf32>) -> tensor<2xbf16>
  %cc = commsched.compute "aten._to_copy"(%c) : (tensor<2xf32>) -> tensor<2xbf16>
  %cx = commsched.compute "aten._to_copy"(%x) : (tensor<2xf32>) -> tensor<2xbf16>
  %cy = commsched.compute "aten._to_copy"(%y) : (tensor<2xf32>) -> tensor<2xbf16>
  %cz = commsched.compute "aten._to_copy"(%z) : (tensor<2xf32>) -> tensor<2xbf16>
  commsched.compute "aten.add_"(%w) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  func.call @callee(%x) : (tensor<2xf32>) -> ()
  %d = arith.select %p, %y, %v : tensor<2xf32>
  %e = scf.if %p -> tensor<2xf32> {
    scf.yield %z : tensor<2xf32>
  } else {
    scf.yield %v : tensor<2xf32>
  }
  commsched.compute "aten.add_"(%d) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  commsched.compute "aten.add_"(%e) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %1 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %2 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %3 = commsched.all_gather %cc on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %4 = commsched.all_gather %cx on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %5 = commsched.all_gather %cy on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %6 = commsched.all_gather %cz on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %7 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  %8 = commsched.wait %2 : !commsched.future<tensor<8xbf16>>
  %9 = commsched.wait %3 : !commsched.future<tensor<8xbf16>>
  %10 = commsched.wait %4 : !commsched.future<tensor<8xbf16>>
  %11 = commsched.wait %5 : !commsched.future<tensor<8xbf16>>
  %12 = commsched.wait %6 : !commsched.future<tensor<8xbf16>>
  return
}

// A loop may carry what it captures. What it only captures is followed: here
// to a write in another block, which does not run between cast and gather.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[P:.+]]: tensor<2xf32>, %{{.+}}: tensor<2xf32>,
// CHECK: scf.for {{.*}} iter_args(%[[X:.+]] =
// CHECK: %[[CAST:.+]] = commsched.compute "aten._to_copy"(%[[X]])
// CHECK: commsched.all_gather_copy_in %[[CAST]], %[[P]] on
func.func @loop(%p: tensor<2xf32>, %q: tensor<2xf32>, %n: index) -> (tensor<2xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  commsched.compute "aten.add_"(%p) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %q) -> tensor<2xf32> {
    %ca = commsched.compute "aten._to_copy"(%x) : (tensor<2xf32>) -> tensor<2xbf16>
    %cb = commsched.compute "aten._to_copy"(%p) : (tensor<2xf32>) -> tensor<2xbf16>
    %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
    %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
    %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
    %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
    %y = "test.make"(%2, %3) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<2xf32>
    scf.yield %y : tensor<2xf32>
  }
  return %r, %p : tensor<2xf32>, tensor<2xf32>
}
