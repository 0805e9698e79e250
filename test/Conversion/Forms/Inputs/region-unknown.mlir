// becomes: barrier: it is in a region of 'other.scope', an operation that is not known
// In a region of an operation of another dialect.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %r = "other.scope"() ({
      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %c = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%c) : (tensor<f32>) -> ()
      }) : (tensor<8xf32>) -> tensor<8xf32>
      "other.yield"(%0) : (tensor<8xf32>) -> ()
    }) : () -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}
