// What does not become a ring is left as it is, with a remark.
// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -o %t.input
// RUN: commsched-opt %t.mlir --commsched-split=mode=ring --remarks-filter=commsched 2>%t.remarks | diff %t.input -
// RUN: FileCheck %s < %t.remarks

commsched.group @one size(1)

// CHECK: CollectiveNotSplit{{.*}}commsched.all_gather 'alone': not split: commsched.all_gather 'alone' ({{.*}}) gathers from one rank, or nothing
func.func @one_rank(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>,
                    %init: tensor<16x64xf32>) -> tensor<16x64xf32> {
  $run(%g = all_gather %x on @one dim(0) {commsched.name = "alone"} : tensor<16x32xf32> -> tensor<16x32xf32>)
  %h = linalg.matmul ins(%g, %w : tensor<16x32xf32>, tensor<32x64xf32>)
      outs(%init : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %h : tensor<16x64xf32>
}

// Two shards are in each batch, so that a shard is in no chunk of batches.

commsched.group @tp size(4)

// CHECK: CollectiveNotSplit{{.*}}'batches': not split: 4 chunks do not divide the 2 elements along the axis of aten.view 'view'
func.func @batches(%x: tensor<16x32xf32>, %w: tensor<2x32x64xf32>) -> tensor<2x32x64xf32> {
  $run(%g = all_gather %x on @tp dim(0) {commsched.name = "batches"} : tensor<16x32xf32> -> tensor<64x32xf32>)
  %v = commsched.compute "aten.view"(%g) {alias = 0 : i64, split = "(b s) d -> b s d", commsched.name = "view"}
      : (tensor<64x32xf32>) -> tensor<2x32x32xf32>
  %h = commsched.compute "aten.bmm"(%v, %w) {flops = 262144.0, split = "b m k, b k n -> b m n", commsched.name = "bmm"}
      : (tensor<2x32x32xf32>, tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
  return %h : tensor<2x32x64xf32>
}

// CHECK: CollectiveNotSplit{{.*}}'scatter': not split: commsched.reduce_scatter 'scatter' ({{.*}}) is no commsched.all_gather, and only these become rings
func.func @scatter(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>,
                   %init: tensor<64x64xf32>) -> tensor<16x64xf32> {
  %h = linalg.matmul ins(%x, %w : tensor<64x32xf32>, tensor<32x64xf32>)
      outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  $run(%g = reduce_scatter %h on @tp reduction(sum) dim(0) {commsched.name = "scatter"}
      : tensor<64x64xf32> -> tensor<16x64xf32>)
  return %g : tensor<16x64xf32>
}
