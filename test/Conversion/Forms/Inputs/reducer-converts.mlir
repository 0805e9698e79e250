// becomes: commsched.all_reduce reduction(sum)
// The sum is computed in a wider type, and rounded.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xbf16>) -> tensor<8xbf16> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):
      %a = "stablehlo.convert"(%p) : (tensor<bf16>) -> tensor<f32>
      %b = "stablehlo.convert"(%q) : (tensor<bf16>) -> tensor<f32>
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %d = "stablehlo.convert"(%c) : (tensor<f32>) -> tensor<bf16>
      "stablehlo.return"(%d) : (tensor<bf16>) -> ()
    }) : (tensor<8xbf16>) -> tensor<8xbf16>
    return %0 : tensor<8xbf16>
  }
}
