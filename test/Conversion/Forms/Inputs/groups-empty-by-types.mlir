// becomes: commsched.all_gather
// Without a number of devices, the types of the gather say that there are eight.
module {
  func.func @main(%x: tensor<8xf32>) -> tensor<64xf32> {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<8xf32>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}
