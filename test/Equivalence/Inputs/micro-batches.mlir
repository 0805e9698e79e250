// A forward, a backward with a sharded parameter, and an update.

commsched.group @all size(4)

func.func @forward(
    %w: tensor<2x4xf32> {commsched.role = "parameter",
      commsched.source = {function = @update, result = 0 : i64, iterations = 1 : i64}},
    %x: tensor<8x4xf32> {commsched.role = "input"})
    -> (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>) {
  %f = commsched.all_gather %w on @all dim(0) : tensor<2x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<8x4xf32>>
  %y = arith.mulf %x, %g : tensor<8x4xf32>
  %l = arith.addf %y, %x : tensor<8x4xf32>
  return %l, %w, %y : tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x4xf32>
}

func.func @backward(
    %w: tensor<2x4xf32> {commsched.role = "parameter",
      commsched.source = {function = @forward, result = 1 : i64}},
    %y: tensor<8x4xf32> {commsched.role = "saved_activation",
      commsched.source = {function = @forward, result = 2 : i64}})
    -> tensor<2x4xf32> {
  %f = commsched.all_gather %w on @all dim(0) : tensor<2x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<8x4xf32>>
  %d = arith.subf %y, %g : tensor<8x4xf32>
  %r = commsched.reduce_scatter %d on @all reduction(sum) dim(0) : tensor<8x4xf32> -> !commsched.future<tensor<2x4xf32>>
  %s = commsched.wait %r : !commsched.future<tensor<2x4xf32>>
  return %s : tensor<2x4xf32>
}

func.func @update(
    %w: tensor<2x4xf32> {commsched.source = {function = @forward, result = 1 : i64}},
    %d: tensor<2x4xf32> {commsched.source = {function = @backward, result = 0 : i64}})
    -> tensor<2x4xf32> {
  %n = arith.addf %w, %d : tensor<2x4xf32>
  return %n : tensor<2x4xf32>
}
