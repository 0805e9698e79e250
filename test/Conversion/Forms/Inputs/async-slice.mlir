// becomes: barrier: its region is not one collective of its arguments
// What is asynchronous is no collective.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {
    %f = "stablehlo.async_start"(%x) ({
    ^bb0(%a: tensor<8xf32>):
      %g = "stablehlo.slice"(%a) <{limit_indices = array<i64: 4>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<4xf32>
      "stablehlo.return"(%g) : (tensor<4xf32>) -> ()
    }) : (tensor<8xf32>) -> !stablehlo.future<tensor<4xf32>>
    %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
