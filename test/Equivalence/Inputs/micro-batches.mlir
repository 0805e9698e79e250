//--- parts.mlir
// A forward, a backward with a sharded parameter, and an update.

!t = tensor<2x4xf32>
!u = tensor<8x4xf32>
commsched.group @all size(4)

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

//--- batch.mlir
// One batch.

func.func @step(%w: !t {commsched.role = "parameter", commsched.carried = 1},
    %x: !u {commsched.role = "input"}) -> (!u, !t) {
  %l, %v, %y = call @forward(%w, %x) : (!t, !u) -> (!u, !t, !u)
  %d = call @backward(%v, %y) : (!t, !u) -> !t
  %n = call @update(%v, %d) : (!t, !t) -> !t
  return %l, %n : !u, !t
}

//--- loop.mlir
// Two micro-batches as a loop, which adds up gradients.

func.func @step(%w: !t {commsched.role = "parameter", commsched.carried = 1},
    %x: tensor<16x4xf32> {commsched.role = "input"}) -> (!u, !t) {
  %zero = arith.constant dense<0.0> : !t
  %none = arith.constant dense<0.0> : !u
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %l, %d = scf.for %i = %c0 to %c16 step %c8
      iter_args(%losses = %none, %sum = %zero) -> (!u, !t) {
    %b = tensor.extract_slice %x[%i, 0] [8, 4] [1, 1] : tensor<16x4xf32> to !u
    %loss, %v, %y = func.call @forward(%w, %b) : (!t, !u) -> (!u, !t, !u)
    %g = func.call @backward(%v, %y) : (!t, !u) -> !t
    %added = arith.addf %losses, %loss : !u
    %more = arith.addf %sum, %g : !t
    scf.yield %added, %more : !u, !t
  }
  %n = call @update(%w, %d) : (!t, !t) -> !t
  return %l, %n : !u, !t
}
