// becomes: commsched.all_gather
// A channel without global ids: replicas with all their partitions.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<32xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
    return %0 : tensor<32xf32>
  }
}
