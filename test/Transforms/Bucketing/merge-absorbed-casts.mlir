// RUN: commsched-test-opt %s --test-merge-collectives | FileCheck %s

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

// What is not only a cast, or not only for the gather, or rounds otherwise.
// CHECK-LABEL: func.func @no_casts(
// CHECK: %[[A:.+]] = commsched.compute "aten._to_copy"
// CHECK: %[[B:.+]] = commsched.compute "my.convert"
// CHECK: %[[C:.+]] = commsched.compute "aten._to_copy"({{.*}}) {flops
// CHECK: %[[D:.+]] = commsched.compute "aten._to_copy"({{.*}}) {mutates
// CHECK: %[[E:.+]] = commsched.compute "aten._to_copy"({{.*}}) {random
// CHECK: %[[F:.+]] = commsched.compute "aten._to_copy"({{.*}}) {alias
// CHECK: %[[G:.+]] = arith.truncf {{.*}} downward
// CHECK: %[[H:.+]] = commsched.compute "aten._to_copy"{{.*}} : (tensor<2xi32>)
// CHECK: %[[I:.+]] = commsched.compute "aten._to_copy"{{.*}} : (tensor<f32>)
// CHECK: %[[J:.+]] = arith.bitcast
// CHECK: %[[K:.+]] = commsched.compute "aten._to_copy"{{.*}} : (tensor<2xbf16>)
// CHECK: %[[L:.+]] = commsched.compute "aten._to_copy"{{.*}} : (tensor<2xf32, "layout">)
// CHECK: %[[M:.+]] = commsched.compute "aten._to_copy"{{.*}} : (tensor<2xf32>, tensor<f32>)
// CHECK: commsched.all_gather_copy_in %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]], %[[G]], %[[H]], %[[I]], %[[J]], %[[K]], %[[L]], %[[M]] on
func.func @no_casts(%x: tensor<2xf32>, %y: tensor<2xf32>, %i: tensor<2xi32>, %j: tensor<2xi16>, %s: tensor<f32>,
                    %z: tensor<2xbf16>, %l: tensor<2xf32, "layout">) -> tensor<2xbf16> {
  %c0 = commsched.compute "aten._to_copy"(%x) : (tensor<2xf32>) -> tensor<2xbf16>
  %c1 = commsched.compute "my.convert"(%x) : (tensor<2xf32>) -> tensor<2xbf16>
  %c2 = commsched.compute "aten._to_copy"(%x) {flops = 2.0 : f64} : (tensor<2xf32>) -> tensor<2xbf16>
  %c3 = commsched.compute "aten._to_copy"(%y) {mutates = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xbf16>
  %c4 = commsched.compute "aten._to_copy"(%x) {random} : (tensor<2xf32>) -> tensor<2xbf16>
  %c5 = commsched.compute "aten._to_copy"(%x) {alias = 0 : i64} : (tensor<2xf32>) -> tensor<2xbf16>
  %c6 = arith.truncf %x downward : tensor<2xf32> to tensor<2xbf16>
  %c7 = commsched.compute "aten._to_copy"(%i) : (tensor<2xi32>) -> tensor<2xbf16>
  %c8 = commsched.compute "aten._to_copy"(%s) : (tensor<f32>) -> tensor<2xbf16>
  %c9 = arith.bitcast %j : tensor<2xi16> to tensor<2xbf16>
  %c10 = commsched.compute "aten._to_copy"(%z) : (tensor<2xbf16>) -> tensor<2xbf16>
  %c11 = commsched.compute "aten._to_copy"(%l) : (tensor<2xf32, "layout">) -> tensor<2xbf16>
  %c12 = commsched.compute "aten._to_copy"(%x, %s) : (tensor<2xf32>, tensor<f32>) -> tensor<2xbf16>
  %0 = commsched.all_gather %c0 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %c1 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %2 = commsched.all_gather %c2 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %3 = commsched.all_gather %c3 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %4 = commsched.all_gather %c4 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %5 = commsched.all_gather %c5 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %6 = commsched.all_gather %c6 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %7 = commsched.all_gather %c7 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %8 = commsched.all_gather %c8 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %9 = commsched.all_gather %c9 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %10 = commsched.all_gather %c10 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %11 = commsched.all_gather %c11 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %12 = commsched.all_gather %c12 on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %w0 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %w1 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  %w2 = commsched.wait %2 : !commsched.future<tensor<8xbf16>>
  %w3 = commsched.wait %3 : !commsched.future<tensor<8xbf16>>
  %w4 = commsched.wait %4 : !commsched.future<tensor<8xbf16>>
  %w5 = commsched.wait %5 : !commsched.future<tensor<8xbf16>>
  %w6 = commsched.wait %6 : !commsched.future<tensor<8xbf16>>
  %w7 = commsched.wait %7 : !commsched.future<tensor<8xbf16>>
  %w8 = commsched.wait %8 : !commsched.future<tensor<8xbf16>>
  %w9 = commsched.wait %9 : !commsched.future<tensor<8xbf16>>
  %w10 = commsched.wait %10 : !commsched.future<tensor<8xbf16>>
  %w11 = commsched.wait %11 : !commsched.future<tensor<8xbf16>>
  %w12 = commsched.wait %12 : !commsched.future<tensor<8xbf16>>
  return %c0 : tensor<2xbf16>
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
