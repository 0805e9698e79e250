// A step that calls a joint function and an update.

commsched.group @dp size(2)
func.func @step(
    %w: tensor<4x4xf32> {commsched.carried = 0 : i64, commsched.role = "parameter"},
    %x: tensor<4x4xf32> {commsched.role = "input"})
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %one = arith.constant dense<0.5> : tensor<4x4xf32>
  %loss, %g = call @joint(%w, %x, %one)
      : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %new = call @optimizer(%w, %g) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %new, %loss : tensor<4x4xf32>, tensor<4x4xf32>
}
func.func private @joint(
    %w: tensor<4x4xf32> {commsched.role = "parameter"},
    %x: tensor<4x4xf32> {commsched.role = "input"},
    %dl: tensor<4x4xf32> {commsched.role = "tangent"})
    -> (tensor<4x4xf32>, tensor<4x4xf32>) attributes {commsched.num_forward_outputs = 1 : i64} {
  %h = arith.mulf %x, %w : tensor<4x4xf32>
  %i = arith.addf %h, %x : tensor<4x4xf32>
  %loss = arith.mulf %i, %h : tensor<4x4xf32>
  %dh = arith.mulf %dl, %i : tensor<4x4xf32>
  %dw = arith.mulf %x, %dh : tensor<4x4xf32>
  %f = commsched.all_reduce %dw on @dp reduction(sum) : tensor<4x4xf32> -> !commsched.future<tensor<4x4xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<4x4xf32>>
  return %loss, %r : tensor<4x4xf32>, tensor<4x4xf32>
}
func.func private @optimizer(%w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c = arith.constant dense<0.125> : tensor<4x4xf32>
  %s = arith.mulf %g, %c : tensor<4x4xf32>
  %n = arith.subf %w, %s : tensor<4x4xf32>
  return %n : tensor<4x4xf32>
}
