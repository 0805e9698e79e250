// becomes: stays: stablehlo.infeed
// Data from the host.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<32xf32>) {
    %t = "stablehlo.create_token"() : () -> !stablehlo.token
    %1:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [[0]]}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
    return %1#0, %0 : tensor<8xf32>, tensor<32xf32>
  }
}
