// As pipelined-loop.mlir, but nothing is in flight between iterations.

commsched.group @all size(4)

func.func @step(%shards: tensor<6x2x4xf32> {commsched.role = "parameter"},
                %x: tensor<8x4xf32> {commsched.role = "input"})
    -> (tensor<8x4xf32>, tensor<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant dense<0.0> : tensor<2x4xf32>
  %y, %sum = scf.for %i = %c0 to %c6 step %c1
      iter_args(%a = %x, %s = %zero) -> (tensor<8x4xf32>, tensor<2x4xf32>) {
    %shard = tensor.extract_slice %shards[%i, 0, 0] [1, 2, 4] [1, 1, 1]
        : tensor<6x2x4xf32> to tensor<2x4xf32>
    %scattering = commsched.reduce_scatter %a on @all reduction(sum) dim(0)
        : tensor<8x4xf32> -> !commsched.future<tensor<2x4xf32>>
    %reduced = commsched.wait %scattering : !commsched.future<tensor<2x4xf32>>
    %s1 = arith.addf %s, %reduced : tensor<2x4xf32>
    %gathering = commsched.all_gather %shard on @all dim(0)
        : tensor<2x4xf32> -> !commsched.future<tensor<8x4xf32>>
    %w = commsched.wait %gathering : !commsched.future<tensor<8x4xf32>>
    %b = arith.addf %a, %w : tensor<8x4xf32>
    scf.yield %b, %s1 : tensor<8x4xf32>, tensor<2x4xf32>
  }
  return %y, %sum : tensor<8x4xf32>, tensor<2x4xf32>
}
