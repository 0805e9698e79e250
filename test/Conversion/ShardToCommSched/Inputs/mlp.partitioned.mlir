// What MLIR's own passes make of mlp.mlir:
//
//   mlir-opt mlp.mlir --pass-pipeline='builtin.module(
//     func.func(sharding-propagation,shard-partition,canonicalize))'
module {
  shard.grid @grid(shape = 2x4)
  func.func @mlp(%arg0: tensor<4x16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x16xf32>) -> tensor<8x16xf32> {
    %c0 = arith.constant 0 : index
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<4x16xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<4x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<4x16xf32>) -> tensor<4x16xf32>
    %all_gather = shard.all_gather %2 on @grid grid_axes = [0] gather_axis = 0 : tensor<4x16xf32> -> tensor<8x16xf32>
    %3 = tensor.empty() : tensor<8x16xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<8x16xf32>) -> tensor<8x16xf32>
    %proc_linear_idx = shard.process_multi_index on @grid axes = [1] : index
    %5 = arith.cmpi eq, %proc_linear_idx, %c0 : index
    %6 = scf.if %5 -> (tensor<8x16xf32>) {
      scf.yield %4 : tensor<8x16xf32>
    } else {
      %8 = tensor.empty() : tensor<8x16xf32>
      %9 = linalg.fill ins(%cst : f32) outs(%8 : tensor<8x16xf32>) -> tensor<8x16xf32>
      scf.yield %9 : tensor<8x16xf32>
    }
    %7 = linalg.matmul ins(%all_gather, %arg2 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%6 : tensor<8x16xf32>) -> tensor<8x16xf32>
    %all_reduce = shard.all_reduce %7 on @grid grid_axes = [1] : tensor<8x16xf32> -> tensor<8x16xf32>
    return %all_reduce : tensor<8x16xf32>
  }
}

