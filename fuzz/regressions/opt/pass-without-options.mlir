// --commsched-compile-regions
func.func @only_constants() -> tensor<4xf32> {
  %0 = arith.constant {commsched.compile_with = {pipeline = "cse"}} dense<2.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
