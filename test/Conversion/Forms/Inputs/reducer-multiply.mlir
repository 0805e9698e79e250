// becomes: commsched.all_reduce reduction(prod)
// The reducer is `multiply`.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%p: tensor<complex<f32>>, %q: tensor<complex<f32>>):
      %c = "stablehlo.multiply"(%p, %q) : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
      "stablehlo.return"(%c) : (tensor<complex<f32>>) -> ()
    }) : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    return %0 : tensor<8xcomplex<f32>>
  }
}
