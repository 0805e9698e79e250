// --commsched-split=chunks=2 extent=widest --commsched-to-llvm
commsched.group @tp size(4)
func.func @columns(%x: tensor<16x32xf32>, %w: tensor<32x2xf32>)
    -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
  %f = commsched.all_gather %w on @tp dim(1) {commsched.name = "ag"}
      : tensor<32x2xf32> -> !commsched.future<tensor<32x8xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<32x8xf32>>
  %h = linalg.matmul {commsched.name = "mm"} ins(%x, %g : tensor<16x32xf32>, tensor<32x8xf32>)
      outs(%fill : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %h : tensor<16x8xf32>
}
