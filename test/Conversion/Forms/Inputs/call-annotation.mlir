// becomes: stays: stablehlo.custom_call
// An annotation of the sharding.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<32xf32>) {
    %1 = "stablehlo.custom_call"(%x) <{call_target_name = "Sharding"}> {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
    return %1, %0 : tensor<8xf32>, tensor<32xf32>
  }
}
