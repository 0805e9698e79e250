// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics -allow-unregistered-dialect

// A step that repeats. Two results may be one value.
func.func @step(%w: tensor<4xf32> {
      commsched.role = "parameter", commsched.carried = 2 : i64},
    %m: tensor<4xf32> {commsched.carried = 0 : i64}, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<f32>, tensor<4xf32>) {
  %loss = commsched.compute "loss"(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %w, %loss, %w : tensor<4xf32>, tensor<f32>, tensor<4xf32>
}

// A declaration.
func.func private @declared(tensor<4xf32> {commsched.carried = 0 : i64}) -> tensor<4xf32>

// -----

ROW

// -----

$error('func.func' op attribute 'commsched.carried' of argument 1 must be the number of a result as an i64, not @f)
func.func private @f(tensor<4xf32>, tensor<4xf32> {commsched.carried = @f})
$error('func.func' op attribute 'commsched.carried' of argument 0 must be the number of a result as an i64, not -1 : i64)
func.func private @f(tensor<4xf32> {commsched.carried = -1 : i64}) -> tensor<4xf32>
$error('func.func' op attribute 'commsched.carried' of argument 0 must be the number of a result as an i64, not 0 : i32)
func.func private @f(tensor<4xf32> {commsched.carried = 0 : i32}) -> tensor<4xf32>
$error('func.func' op attribute 'commsched.carried' of argument 0 names result 1, but the function has 1)
func.func private @f(tensor<4xf32> {commsched.carried = 1 : i64}) -> tensor<4xf32>
$error('func.func' op attribute 'commsched.carried' of argument 1 names result 0, whose type is 'tensor<4xf32>', not 'tensor<8xf32>')
func.func private @f(tensor<4xf32>, tensor<8xf32> {commsched.carried = 0 : i64}) -> tensor<4xf32>
$error('func.func' op attribute 'commsched.carried' of argument 2 names result 0, which argument 0 takes)
func.func private @f(tensor<4xf32> {commsched.carried = 0 : i64}, tensor<4xf32> {commsched.carried = 1 : i64}, tensor<4xf32> {commsched.carried = 0 : i64}) -> (tensor<4xf32>, tensor<4xf32>)

func.func @f(%x: tensor<4xf32>) {
  // expected-error@below {{'arith.negf' op attribute 'commsched.carried' belongs on an argument, not on an operation}}
  %0 = arith.negf %x {commsched.carried = 0 : i64} : tensor<4xf32>
  return
}
