// Splitting and merging give the operations of the input, with names and pins.
// RUN: commsched-opt %s --split-input-file -o %t.input
// RUN: commsched-opt %s --commsched-split=chunks=2 --commsched-merge-chunks --split-input-file | diff %t.input -
// RUN: commsched-opt %s --commsched-split="chunks=4 extent=widest" --commsched-merge-chunks --split-input-file | diff %t.input -
// RUN: commsched-opt %s --commsched-split="chunks=2 bitwise=false" --commsched-merge-chunks --split-input-file | diff %t.input -
// RUN: commsched-opt %s --commsched-split="chunks=2 extent=widest bitwise=false" --split-input-file | FileCheck %s

commsched.group @tp size(4)

// CHECK-LABEL: func.func @mlp
// CHECK: commsched.name = "mm1.chunk0"
func.func @mlp(%x: tensor<16x32xf32>, %w1: tensor<32x64xf32>, %w2: tensor<64x32xf32>)
    -> tensor<16x32xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f {commsched.name = "ag_wait"} : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w1) {flops = 262144.0, split = "m k, k n -> m n", commsched.name = "mm1", commsched.module = "mlp", commsched.runtime_ns = 1001 : i64}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %s = commsched.compute "aten.silu"(%h) {split = "a b -> a b", commsched.name = "silu"}
      : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = commsched.compute "aten.mm"(%s, %w2) {flops = 262144.0, split = "m k, k n -> m n", commsched.name = "mm2"}
      : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %rf = commsched.reduce_scatter %y on @tp reduction(sum) dim(0) {commsched.name = "rs"}
      : tensor<64x32xf32> -> !commsched.future<tensor<16x32xf32>>
  %r = commsched.wait %rf : !commsched.future<tensor<16x32xf32>>
  return %r : tensor<16x32xf32>
}

// -----

// What is gathered is added up over: with bitwise=false, the chunks are partial
// sums.

commsched.group @tp size(4)

// CHECK-LABEL: func.func @sum
// CHECK: commsched.name = "mm.chunk1"
// CHECK: linalg.generic
// CHECK-SAME: commsched.name = "mm.whole"
func.func @sum(%x: tensor<16x32xf32>, %w: tensor<64x8xf32>) -> tensor<32x8xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w) {split = "k m, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<64x8xf32>) -> tensor<32x8xf32>
  return %h : tensor<32x8xf32>
}

// -----

// Two all-to-alls with an expert between, whose tokens are in the inner
// dimension, so that slices are pieces.

commsched.group @ep size(2)

// CHECK-LABEL: func.func @experts
// CHECK: commsched.name = "dispatch.chunk0"
// CHECK: commsched.name = "dispatch.chunk1"
// CHECK: commsched.name = "expert.chunk0"
// CHECK: commsched.name = "combine.chunk0"
// CHECK: commsched.name = "expert.chunk1"
func.func @experts(%x: tensor<4x8x16xf32>, %w: tensor<2x16x16xf32>) -> tensor<4x8x16xf32> {
  %f = commsched.all_to_all %x on @ep split_dim(0) concat_dim(1) {commsched.name = "dispatch"}
      : tensor<4x8x16xf32> -> !commsched.future<tensor<2x16x16xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<2x16x16xf32>>
  %h = commsched.compute "aten.bmm"(%g, %w) {split = "b m k, b k n -> b m n", commsched.name = "expert"}
      : (tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %cf = commsched.all_to_all %h on @ep split_dim(1) concat_dim(0) {commsched.name = "combine"}
      : tensor<2x16x16xf32> -> !commsched.future<tensor<4x8x16xf32>>
  %c = commsched.wait %cf : !commsched.future<tensor<4x8x16xf32>>
  return %c : tensor<4x8x16xf32>
}
