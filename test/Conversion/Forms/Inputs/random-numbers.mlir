// becomes: stays: stablehlo.rng
// Random numbers, whose state is kept in order.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<32xf32>) {
    %l = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %h = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %n = "stablehlo.constant"() <{value = dense<8> : tensor<1xi64>}> : () -> tensor<1xi64>
    %1 = "stablehlo.rng"(%l, %h, %n) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
    return %1, %0 : tensor<8xf32>, tensor<32xf32>
  }
}
