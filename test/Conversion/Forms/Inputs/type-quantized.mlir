// becomes: barrier: the size of
// Quantized elements.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8x!quant.uniform<i8:f32, 1.000000e+00>>) -> tensor<32x!quant.uniform<i8:f32, 1.000000e+00>> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8x!quant.uniform<i8:f32, 1.000000e+00>>) -> tensor<32x!quant.uniform<i8:f32, 1.000000e+00>>
    return %0 : tensor<32x!quant.uniform<i8:f32, 1.000000e+00>>
  }
}
