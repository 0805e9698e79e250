// becomes: barrier: its reducer is not one of add
// The sum is computed in a narrower type.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %a = "stablehlo.convert"(%p) : (tensor<f32>) -> tensor<bf16>
      %b = "stablehlo.convert"(%q) : (tensor<f32>) -> tensor<bf16>
      %c = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
      %d = "stablehlo.convert"(%c) : (tensor<bf16>) -> tensor<f32>
      "stablehlo.return"(%d) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
