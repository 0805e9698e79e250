// becomes: commsched.all_reduce, commsched.all_gather
// Without a number of devices, the groups of the gather say that there are eight.
module {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<32xf32>) {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %c = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
    return %0, %1 : tensor<8xf32>, tensor<32xf32>
  }
}
