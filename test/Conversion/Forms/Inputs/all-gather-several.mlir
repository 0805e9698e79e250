// becomes: commsched.all_gather
// Several operands.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>, %y: tensor<2x3xi32>) -> (tensor<32xf32>, tensor<8x3xi32>) {
    %0:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>, tensor<2x3xi32>) -> (tensor<32xf32>, tensor<8x3xi32>)
    return %0#0, %0#1 : tensor<32xf32>, tensor<8x3xi32>
  }
}
