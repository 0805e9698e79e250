// becomes: barrier: it communicates in the order of its token
// From one device to another.
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %t = "stablehlo.create_token"() : () -> !stablehlo.token
    %s = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %0:2 = "stablehlo.recv"(%s) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %0#0 : tensor<8xf32>
  }
}
