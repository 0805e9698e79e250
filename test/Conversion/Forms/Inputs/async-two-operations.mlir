// becomes: barrier: its region is not one collective of its arguments
// Two operations between start and done.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<32xf32> {
    %f = "stablehlo.async_start"(%x) ({
    ^bb0(%a: tensor<8xf32>):
      %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
      %n = "stablehlo.negate"(%g) : (tensor<32xf32>) -> tensor<32xf32>
      "stablehlo.return"(%n) : (tensor<32xf32>) -> ()
    }) : (tensor<8xf32>) -> !stablehlo.future<tensor<32xf32>>
    %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<32xf32>>) -> tensor<32xf32>
    return %0 : tensor<32xf32>
  }
}
