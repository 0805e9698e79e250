// The gather of the shard of iteration i + 1 is in flight in iteration i, and
// the reduction of iteration i until iteration i + 1.

commsched.group @all size(4)

func.func @step(%shards: tensor<6x2x4xf32> {commsched.role = "parameter"},
                %x: tensor<8x4xf32> {commsched.role = "input"})
    -> (tensor<8x4xf32>, tensor<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant dense<0.0> : tensor<2x4xf32>
  %first = tensor.extract_slice %shards[0, 0, 0] [1, 2, 4] [1, 1, 1]
      : tensor<6x2x4xf32> to tensor<2x4xf32>
  %gathering0 = commsched.all_gather %first on @all dim(0)
      : tensor<2x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %scattering0 = commsched.reduce_scatter %x on @all reduction(sum) dim(0)
      : tensor<8x4xf32> -> !commsched.future<tensor<2x4xf32>>
  %y, %sum, %gathering, %scattering = scf.for %i = %c0 to %c5 step %c1
      iter_args(%a = %x, %s = %zero, %g = %gathering0, %r = %scattering0)
      -> (tensor<8x4xf32>, tensor<2x4xf32>,
          !commsched.future<tensor<8x4xf32>>,
          !commsched.future<tensor<2x4xf32>>) {
    %next = arith.addi %i, %c1 : index
    %shard = tensor.extract_slice %shards[%next, 0, 0] [1, 2, 4] [1, 1, 1]
        : tensor<6x2x4xf32> to tensor<2x4xf32>
    %g1 = commsched.all_gather %shard on @all dim(0)
        : tensor<2x4xf32> -> !commsched.future<tensor<8x4xf32>>
    %w = commsched.wait %g : !commsched.future<tensor<8x4xf32>>
    %b = arith.addf %a, %w : tensor<8x4xf32>
    %r1 = commsched.reduce_scatter %b on @all reduction(sum) dim(0)
        : tensor<8x4xf32> -> !commsched.future<tensor<2x4xf32>>
    %reduced = commsched.wait %r : !commsched.future<tensor<2x4xf32>>
    %s1 = arith.addf %s, %reduced : tensor<2x4xf32>
    scf.yield %b, %s1, %g1, %r1
        : tensor<8x4xf32>, tensor<2x4xf32>, !commsched.future<tensor<8x4xf32>>,
          !commsched.future<tensor<2x4xf32>>
  } {commsched.pipelined}
  %w = commsched.wait %gathering : !commsched.future<tensor<8x4xf32>>
  %reduced = commsched.wait %scattering : !commsched.future<tensor<2x4xf32>>
  %z = arith.addf %y, %w : tensor<8x4xf32>
  %t = arith.addf %sum, %reduced : tensor<2x4xf32>
  return %z, %t : tensor<8x4xf32>, tensor<2x4xf32>
}
