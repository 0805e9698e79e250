// becomes: barrier: commsched has no such collective
// Each operand is for another device, and each result from another.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x0: tensor<2xf32>, %x1: tensor<2xf32>, %x2: tensor<2xf32>, %x3: tensor<2xf32>, %x4: tensor<2xf32>, %x5: tensor<2xf32>, %x6: tensor<2xf32>, %x7: tensor<2xf32>) -> tensor<2xf32> {
    %0:8 = "mhlo.all_to_all"(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
    return %0#0 : tensor<2xf32>
  }
}
