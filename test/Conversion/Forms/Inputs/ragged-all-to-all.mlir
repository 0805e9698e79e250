// becomes: commsched.ragged_all_to_all
// A custom call whose parts are known at run time.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8x4xf32>, %o: tensor<16x4xf32>, %a: tensor<8xi32>, %b: tensor<8xi32>, %c: tensor<8xi32>, %d: tensor<8xi32>) -> tensor<16x4xf32> {
    %0 = "stablehlo.custom_call"(%x, %o, %a, %b, %c, %d) <{api_version = 4 : i32, backend_config = {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}, call_target_name = "ragged_all_to_all"}> : (tensor<8x4xf32>, tensor<16x4xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
}
