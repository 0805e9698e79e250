// As plain-loop.mlir, with a condition that counts.

!t = tensor<2x4xf32>
!u = tensor<6x2x4xf32>
commsched.group @all size(4)

func.func @step(%shards: !u {commsched.role = "parameter"}, %x: tensor<8x4xf32>
    {commsched.role = "input"}) -> (tensor<8x4xf32>, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant dense<0.0> : !t
  %n, %y, %sum, %all = scf.while (%i = %c0, %a = %x, %s = %zero, %stack = %shards)
      : (index, tensor<8x4xf32>, !t, !u)
      -> (index, tensor<8x4xf32>, !t, !u) {
    %goes_on = arith.cmpi slt, %i, %c6 : index
    scf.condition(%goes_on) %i, %a, %s, %stack : index, tensor<8x4xf32>, !t, !u
  } do {
  ^bb0(%i: index, %a: tensor<8x4xf32>, %s: tensor<2x4xf32>, %stack: tensor<6x2x4xf32>):
    %shard = tensor.extract_slice %stack[%i, 0, 0] [1, 2, 4] [1, 1, 1] : !u to !t
    %scattering = commsched.reduce_scatter %a on @all reduction(sum) dim(0)
        : tensor<8x4xf32> -> !commsched.future<!t>
    %reduced = commsched.wait %scattering : !commsched.future<!t>
    %s1 = arith.addf %s, %reduced : !t
    %gathering = commsched.all_gather %shard on @all dim(0)
        : !t -> !commsched.future<tensor<8x4xf32>>
    %w = commsched.wait %gathering : !commsched.future<tensor<8x4xf32>>
    %b = arith.addf %a, %w : tensor<8x4xf32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %b, %s1, %stack : index, tensor<8x4xf32>, !t, !u
  }
  return %y, %sum : tensor<8x4xf32>, !t
}
