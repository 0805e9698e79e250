// becomes: commsched.all_gather
// An iota of three dimensions, transposed.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<32xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 4, 1, 5], [2, 6, 3, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
    return %0 : tensor<32xf32>
  }
}
