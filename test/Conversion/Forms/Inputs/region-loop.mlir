// becomes: commsched.all_reduce
// In the body of a loop.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %i = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %r:2 = "stablehlo.while"(%i, %x) ({
    ^bb0(%k: tensor<i32>, %v: tensor<8xf32>):
      %n = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
      %l = "stablehlo.compare"(%k, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%l) : (tensor<i1>) -> ()
    }, {
    ^bb0(%k: tensor<i32>, %v: tensor<8xf32>):
      %o = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %m = "stablehlo.add"(%k, %o) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %0 = "stablehlo.all_reduce"(%v) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %c = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%c) : (tensor<f32>) -> ()
      }) : (tensor<8xf32>) -> tensor<8xf32>
      "stablehlo.return"(%m, %0) : (tensor<i32>, tensor<8xf32>) -> ()
    }) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>)
    return %r#1 : tensor<8xf32>
  }
}
