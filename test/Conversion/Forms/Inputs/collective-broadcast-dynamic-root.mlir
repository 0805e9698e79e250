// becomes: barrier: its root is known at run time only
// The last operand says where the data comes from.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>, %r: tensor<1xi32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_broadcast"(%x, %r) <{has_dynamic_root, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>, tensor<1xi32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
