// RUN: commsched-opt %s --commsched-split=chunks=2 | FileCheck %s

// A chunk of the product has rows of all ranks, so that a chunk of its
// destination is in several pieces. All elements of the destination are equal,
// and a view of as many contiguous rows stands for them.

commsched.group @tp size(4)

// CHECK-LABEL: func.func @f
// CHECK: %[[ZEROS:.+]] = linalg.fill
// CHECK: %[[D0:.+]] = tensor.extract_slice %[[ZEROS]][0, 0] [32, 32] [1, 1]
// CHECK: linalg.matmul {{.*}} outs(%[[D0]] : tensor<32x32xf32>)
// CHECK: %[[D1:.+]] = tensor.extract_slice %[[ZEROS]][32, 0] [32, 32] [1, 1]
// CHECK: linalg.matmul {{.*}} outs(%[[D1]] : tensor<32x32xf32>)
// CHECK-NOT: linalg.copy
func.func @f(%x: tensor<16x8xf32>, %w: tensor<8x32xf32>) -> tensor<64x32xf32> {
  %f = commsched.all_gather %x on @tp dim(0)
      : tensor<16x8xf32> -> !commsched.future<tensor<64x8xf32>>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x32xf32>) -> tensor<64x32xf32>
  %g = commsched.wait %f : !commsched.future<tensor<64x8xf32>>
  %y = linalg.matmul ins(%g, %w : tensor<64x8xf32>, tensor<8x32xf32>)
      outs(%zeros : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
