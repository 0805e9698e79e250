// A forward, a backward with a sharded parameter, and an update.

commsched.group @all size(4)

func.func @step(
    %w: tensor<2x4xf32> {commsched.role = "parameter", commsched.carried = 1 : i64},
    %x: tensor<8x4xf32> {commsched.role = "input"})
    -> (tensor<8x4xf32>, tensor<2x4xf32>) {
  %l, %v, %y = call @forward(%w, %x)
      : (tensor<2x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>)
  %d = call @backward(%v, %y) : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %n = call @update(%v, %d) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %l, %n : tensor<8x4xf32>, tensor<2x4xf32>
}

func.func private @forward(
    %w: tensor<2x4xf32> {commsched.role = "parameter"},
    %x: tensor<8x4xf32> {commsched.role = "input"})
    -> (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>) {
  %f = commsched.all_gather %w on @all dim(0) : tensor<2x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<8x4xf32>>
  %y = arith.mulf %x, %g : tensor<8x4xf32>
  %l = arith.addf %y, %x : tensor<8x4xf32>
  return %l, %w, %y : tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>
}

func.func private @backward(
    %w: tensor<2x4xf32> {commsched.role = "parameter"},
    %y: tensor<8x4xf32> {commsched.role = "saved_activation"})
    -> tensor<2x4xf32> {
  %f = commsched.all_gather %w on @all dim(0) : tensor<2x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<8x4xf32>>
  %d = arith.subf %y, %g : tensor<8x4xf32>
  %r = commsched.reduce_scatter %d on @all reduction(sum) dim(0) : tensor<8x4xf32> -> !commsched.future<tensor<2x4xf32>>
  %s = commsched.wait %r : !commsched.future<tensor<2x4xf32>>
  return %s : tensor<2x4xf32>
}

func.func private @update(
    %w: tensor<2x4xf32>,
    %d: tensor<2x4xf32>)
    -> tensor<2x4xf32> {
  %n = arith.addf %w, %d : tensor<2x4xf32>
  return %n : tensor<2x4xf32>
}
