func.func @opaque_reducer(%x: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<2048x1024xf32>) {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.subtract"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1024x1024xf32>) -> tensor<2048x1024xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<2048x1024xf32>
}
