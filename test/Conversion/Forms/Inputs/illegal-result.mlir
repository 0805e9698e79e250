// becomes: error: result 0 is a 'tensor<24xf32>', but a group of 4 devices delivers a 'tensor<32xf32>'
// A result that no group of four devices delivers.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<24xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>) -> tensor<24xf32>
    return %0 : tensor<24xf32>
  }
}
