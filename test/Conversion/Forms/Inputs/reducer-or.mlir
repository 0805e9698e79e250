// becomes: commsched.all_reduce reduction(bor)
// The reducer is `or`.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xi1>) -> tensor<8xi1> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%p: tensor<i1>, %q: tensor<i1>):
      %c = "stablehlo.or"(%p, %q) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }) : (tensor<8xi1>) -> tensor<8xi1>
    return %0 : tensor<8xi1>
  }
}
