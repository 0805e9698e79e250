// The gather of the shard of iteration i + 1 is in flight in iteration i, and
// the reduction of iteration i until iteration i + 1.

!t = tensor<2x4xf32>
!u = tensor<8x4xf32>
!future = !commsched.future<!u>
commsched.group @all size(4)

func.func @step(%shards: tensor<6x2x4xf32> {commsched.role = "parameter"},
    %x: !u {commsched.role = "input"}) -> (!u, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant dense<0.0> : !t
  %first = tensor.extract_slice %shards[0, 0, 0] [1, 2, 4] [1, 1, 1] : tensor<6x2x4xf32> to !t
  %gathering0 = commsched.all_gather %first on @all dim(0) : !t -> !future
  %scattering0 = commsched.reduce_scatter %x on @all reduction(sum) dim(0)
      : !u -> !commsched.future<!t>
  %y, %sum, %gathering, %scattering = scf.for %i = %c0 to %c5 step %c1
      iter_args(%a = %x, %s = %zero, %g = %gathering0, %r = %scattering0)
      -> (!u, !t, !future, !commsched.future<!t>) {
    %next = arith.addi %i, %c1 : index
    %shard = tensor.extract_slice %shards[%next, 0, 0] [1, 2, 4] [1, 1, 1] : tensor<6x2x4xf32> to !t
    %g1 = commsched.all_gather %shard on @all dim(0) : !t -> !future
    %w = commsched.wait %g : !future
    %b = arith.addf %a, %w : !u
    %r1 = commsched.reduce_scatter %b on @all reduction(sum) dim(0) : !u -> !commsched.future<!t>
    %reduced = commsched.wait %r : !commsched.future<!t>
    %s1 = arith.addf %s, %reduced : !t
    scf.yield %b, %s1, %g1, %r1 : !u, !t, !future, !commsched.future<!t>
  } {commsched.pipelined}
  %w = commsched.wait %gathering : !future
  %reduced = commsched.wait %scattering : !commsched.future<!t>
  %z = arith.addf %y, %w : !u
  %t = arith.addf %sum, %reduced : !t
  return %z, %t : !u, !t
}
