// What two micro-batches and an update compute.

!t = tensor<2x4xf32>
commsched.group @all size(4)

func.func @step(%w: !t {commsched.role = "parameter", commsched.carried = 2},
    %x: tensor<8x4xf32> {commsched.role = "input"}, %u: tensor<8x4xf32>
    {commsched.role = "input"}) -> (tensor<8x4xf32>, tensor<8x4xf32>, !t) {
  %f = commsched.all_gather %w on @all dim(0) : !t -> !commsched.future<tensor<8x4xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<8x4xf32>>
  %y = arith.mulf %x, %g : tensor<8x4xf32>
  %l = arith.addf %y, %x : tensor<8x4xf32>
  %d = arith.subf %y, %g : tensor<8x4xf32>
  %z = arith.mulf %u, %g : tensor<8x4xf32>
  %m = arith.addf %z, %u : tensor<8x4xf32>
  %e = arith.subf %z, %g : tensor<8x4xf32>
  %s = arith.addf %d, %e : tensor<8x4xf32>
  %r = commsched.reduce_scatter %s on @all reduction(sum) dim(0) : tensor<8x4xf32> -> !commsched.future<!t>
  %t = commsched.wait %r : !commsched.future<!t>
  %n = arith.addf %w, %t : !t
  return %l, %m, %n : tensor<8x4xf32>, tensor<8x4xf32>, !t
}
