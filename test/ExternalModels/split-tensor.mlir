// RUN: commsched-opt %s --commsched-split="chunks=2 extent=widest" -o %t.mlir --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: commsched-run %t.mlir --compare=%s --ranks 4 | FileCheck %s

// Chunks of every operation between the gather and the scatter give together
// what the whole operations give, bit for bit.

// REMARK: commsched.all_gather: split into 2 chunks together with 16 operations
// REMARK: commsched.reduce_scatter: split into 2 chunks together with 16 operations
// CHECK: equal: all 512 elements on 4 ranks

commsched.group @tp size(4)

func.func @normalize(%x: tensor<16x8xf32>, %w1: tensor<8x32xf32>, %w2: tensor<32x8xf32>,
                     %bias: tensor<32xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %f = commsched.all_gather %x on @tp dim(0) : tensor<16x8xf32> -> !commsched.future<tensor<64x8xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64x8xf32>>
  %e1 = tensor.empty() : tensor<64x32xf32>
  %b = linalg.broadcast ins(%bias : tensor<32xf32>) outs(%e1 : tensor<64x32xf32>) dimensions = [0]
  %0 = linalg.matmul ins(%g, %w1 : tensor<64x8xf32>, tensor<8x32xf32>) outs(%b : tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [8, 8, 32] : tensor<64x32xf32> into tensor<8x8x32xf32>
  %e2 = tensor.empty() : tensor<8x8xf32>
  %lows = linalg.fill ins(%low : f32) outs(%e2 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.reduce ins(%1 : tensor<8x8x32xf32>) outs(%lows : tensor<8x8xf32>) dimensions = [2]
    (%in: f32, %out: f32) {
      %max = arith.maximumf %in, %out : f32
      linalg.yield %max : f32
    }
  %e3 = tensor.empty() : tensor<8x8x32xf32>
  %3 = linalg.broadcast ins(%2 : tensor<8x8xf32>) outs(%e3 : tensor<8x8x32xf32>) dimensions = [2]
  %4 = arith.subf %1, %3 : tensor<8x8x32xf32>
  %5 = math.exp %4 : tensor<8x8x32xf32>
  %e4 = tensor.empty() : tensor<32x8x8xf32>
  %6 = linalg.transpose ins(%5 : tensor<8x8x32xf32>) outs(%e4 : tensor<32x8x8xf32>) permutation = [2, 0, 1]
  %7 = tensor.extract_slice %6[16, 0, 0] [16, 8, 8] [1, 1, 1] : tensor<32x8x8xf32> to tensor<16x8x8xf32>
  %8 = tensor.concat dim(0) %7, %7 : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<32x8x8xf32>
  %9 = tensor.extract_slice %6[3, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<32x8x8xf32> to tensor<8x8xf32>
  %10 = tensor.insert_slice %9 into %8[5, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<8x8xf32> into tensor<32x8x8xf32>
  %11 = tensor.pad %10 low[2, 0, 0] high[0, 0, 0] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
  } : tensor<32x8x8xf32> to tensor<34x8x8xf32>
  %12 = tensor.extract_slice %11[0, 0, 0] [32, 8, 8] [1, 1, 1] : tensor<34x8x8xf32> to tensor<32x8x8xf32>
  %13 = tensor.collapse_shape %12 [[0], [1, 2]] : tensor<32x8x8xf32> into tensor<32x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %14 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%13 : tensor<32x64xf32>) outs(%zeros : tensor<64x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %column = linalg.index 1 : index
      %integer = arith.index_cast %column : index to i32
      %number = arith.sitofp %integer : i32 to f32
      %sum = arith.addf %in, %number : f32
      linalg.yield %sum : f32
  } -> tensor<64x32xf32>
  %e5 = tensor.empty() : tensor<64x8xf32>
  %z5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<64x8xf32>) -> tensor<64x8xf32>
  %15 = linalg.matmul ins(%14, %w2 : tensor<64x32xf32>, tensor<32x8xf32>) outs(%z5 : tensor<64x8xf32>) -> tensor<64x8xf32>
  %r = commsched.reduce_scatter %15 on @tp reduction(sum) dim(0) : tensor<64x8xf32> -> !commsched.future<tensor<16x8xf32>>
  %o = commsched.wait %r : !commsched.future<tensor<16x8xf32>>
  return %o : tensor<16x8xf32>
}
