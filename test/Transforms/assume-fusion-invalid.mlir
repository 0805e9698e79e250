// RUN: commsched-opt %s --split-input-file --verify-diagnostics

func.func @number(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'commsched.fused' must be the number of an operand that is a tensor, but is 1}}
  %0 = "stablehlo.negate"(%a) {commsched.fused = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @scalar(%a: f32) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'commsched.fused' must be the number of an operand that is a tensor, but is 0}}
  %0 = tensor.splat %a {commsched.fused = 0 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
