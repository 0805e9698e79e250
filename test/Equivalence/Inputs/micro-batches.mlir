// A forward, a backward with a sharded parameter, and an update.

!t = tensor<2x4xf32>
!u = tensor<8x4xf32>
commsched.group @all size(4)

func.func @step(%w: !t {commsched.role = "parameter", commsched.carried = 1},
    %x: !u {commsched.role = "input"}) -> (!u, !t) {
  %l, %v, %y = call @forward(%w, %x) : (!t, !u) -> (!u, !t, !u)
  %d = call @backward(%v, %y) : (!t, !u) -> !t
  %n = call @update(%v, %d) : (!t, !t) -> !t
  return %l, %n : !u, !t
}

func.func private @forward(%w: !t {commsched.role = "parameter"}, %x: !u
    {commsched.role = "input"}) -> (!u, !t, !u) {
  %f = commsched.all_gather %w on @all dim(0) : !t -> !commsched.future<!u>
  %g = commsched.wait %f : !commsched.future<!u>
  %y = arith.mulf %x, %g : !u
  %l = arith.addf %y, %x : !u
  return %l, %w, %y : !u, !t, !u
}

func.func private @backward(%w: !t {commsched.role = "parameter"}, %y: !u
    {commsched.role = "saved_activation"}) -> !t {
  %f = commsched.all_gather %w on @all dim(0) : !t -> !commsched.future<!u>
  %g = commsched.wait %f : !commsched.future<!u>
  %d = arith.subf %y, %g : !u
  %r = commsched.reduce_scatter %d on @all reduction(sum) dim(0) : !u -> !commsched.future<!t>
  %s = commsched.wait %r : !commsched.future<!t>
  return %s : !t
}

func.func private @update(%w: !t, %d: !t) -> !t {
  %n = arith.addf %w, %d : !t
  return %n : !t
}
