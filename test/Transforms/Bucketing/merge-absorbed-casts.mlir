// RUN: commsched-opt %s --commsched-bucket=mode=copy | FileCheck %s

// The copy-in converts: casts without other users go.

commsched.group @dp size(4)

// CHECK-LABEL: func.func @gathers(
// CHECK-SAME: %[[A:.+]]: tensor<2xf32>, %[[B:.+]]: tensor<2xf32>, %[[C:.+]]: tensor<2xf16>, %[[D:.+]]: tensor<2xbf16>, %[[E:.+]]: tensor<2xf64>)
// CHECK-NEXT: commsched.all_gather_copy_in %[[A]], %[[B]], %[[C]], %[[D]], %[[E]] on @dp : tensor<2xf32>, tensor<2xf32>, tensor<2xf16>, tensor<2xbf16>, tensor<2xf64> -> tensor<10xbf16>, tensor<40xbf16>
// CHECK-NEXT: commsched.all_gather
func.func @gathers(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf16>, %d: tensor<2xbf16>, %e: tensor<2xf64>)
    -> (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>) {
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<2xf32>) -> tensor<2xbf16>
  %cb = arith.truncf %b : tensor<2xf32> to tensor<2xbf16>
  %cc = commsched.compute "prims.convert_element_type"(%c) : (tensor<2xf16>) -> tensor<2xbf16>
  %ce = arith.truncf %e to_nearest_even : tensor<2xf64> to tensor<2xbf16>
  %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %2 = commsched.all_gather %cc on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %3 = commsched.all_gather %d on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %4 = commsched.all_gather %ce on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %5 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %6 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  %7 = commsched.wait %2 : !commsched.future<tensor<8xbf16>>
  %8 = commsched.wait %3 : !commsched.future<tensor<8xbf16>>
  %9 = commsched.wait %4 : !commsched.future<tensor<8xbf16>>
  return %5, %6, %7, %8, %9 : tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>
}

// chunk_cat widens, and does nothing else.
// CHECK-LABEL: func.func @scatters(
// CHECK-SAME: %[[A:.+]]: tensor<8xbf16>, %[[B:.+]]: tensor<1x8xbf16>, %[[C:.+]]: tensor<8xf64>)
// CHECK-NEXT: %[[NARROW:.+]] = arith.truncf %[[C]]
// CHECK-NEXT: %[[FLAT:.+]] = tensor.collapse_shape %[[B]]
// CHECK-NEXT: commsched.chunk_cat %[[A]], %[[FLAT]], %[[NARROW]] on @dp : tensor<8xbf16>, tensor<8xbf16>, tensor<8xf32> -> tensor<24xf32>
func.func @scatters(%a: tensor<8xbf16>, %b: tensor<1x8xbf16>, %c: tensor<8xf64>)
    -> (tensor<2xf32>, tensor<1x2xf32>, tensor<2xf32>) {
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<8xbf16>) -> tensor<8xf32>
  %cb = arith.extf %b : tensor<1x8xbf16> to tensor<1x8xf32>
  %cc = arith.truncf %c : tensor<8xf64> to tensor<8xf32>
  %0 = commsched.reduce_scatter %ca on @dp reduction(sum) dim(0) : tensor<8xf32> -> !commsched.future<tensor<2xf32>>
  %1 = commsched.reduce_scatter %cb on @dp reduction(sum) dim(1) : tensor<1x8xf32> -> !commsched.future<tensor<1x2xf32>>
  %2 = commsched.reduce_scatter %cc on @dp reduction(sum) dim(0) : tensor<8xf32> -> !commsched.future<tensor<2xf32>>
  %3 = commsched.wait %0 : !commsched.future<tensor<2xf32>>
  %4 = commsched.wait %1 : !commsched.future<tensor<1x2xf32>>
  %5 = commsched.wait %2 : !commsched.future<tensor<2xf32>>
  return %3, %4, %5 : tensor<2xf32>, tensor<1x2xf32>, tensor<2xf32>
}

// A concatenation converts nothing.
// CHECK-LABEL: func.func @all_reduces(
// CHECK-COUNT-2: arith.extf
// CHECK-NEXT: tensor.concat
func.func @all_reduces(%a: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xf32>) {
  %ca = arith.extf %a : tensor<2xbf16> to tensor<2xf32>
  %cb = arith.extf %a : tensor<2xbf16> to tensor<2xf32>
  %0 = commsched.all_reduce %ca on @dp reduction(sum) : tensor<2xf32> -> !commsched.future<tensor<2xf32>>
  %1 = commsched.all_reduce %cb on @dp reduction(sum) : tensor<2xf32> -> !commsched.future<tensor<2xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<2xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<2xf32>>
  return %2, %3 : tensor<2xf32>, tensor<2xf32>
}

// What was converted once for all iterations is not converted in each.
// CHECK-LABEL: func.func @cast_outside(
// CHECK-COUNT-2: arith.truncf
// CHECK: scf.for
// CHECK: commsched.all_gather_copy_in
func.func @cast_outside(%a: tensor<2xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ca = arith.truncf %a : tensor<2xf32> to tensor<2xbf16>
  %cb = arith.truncf %a : tensor<2xf32> to tensor<2xbf16>
  scf.for %i = %c0 to %n step %c1 {
    %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
    %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
    %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
    %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  }
  return
}
