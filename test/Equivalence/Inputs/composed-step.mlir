// A step with all that the features of commsched-pipeline act on: a joint
// function with gathers and reductions, an optimizer, a loop with a collective,
// two groups, a value that the step carries, and a choice of implementations.

!t = tensor<16x4xf32>
!u = tensor<4x4xf32>
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.preset" = "h100",
    "commsched.implementations" = {
      nccl = {tax = 0.3, latency_us = 20.0, bandwidth_gb_s = 300.0},
      "copy-engine" = {latency_us = 60.0, bandwidth_gb_s = 300.0}}>>} {
commsched.group @dp size(4)
commsched.group @tp size(4)
func.func @step(%w: !u {commsched.carried = 0, commsched.role = "parameter"},
    %x: !t {commsched.role = "input"}) -> (!u, !t) {
  %one = arith.constant dense<0.5> : !t
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %mixed = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> !t {
    %f = commsched.all_reduce %a on @tp reduction(avg) : !t -> !commsched.future<!t>
    %r = commsched.wait %f : !commsched.future<!t>
    %b = arith.mulf %r, %one : !t
    scf.yield %b : !t
  }
  %loss, %g = call @joint(%w, %mixed, %one) : (!u, !t, !t) -> (!t, !u)
  %new = call @optimizer(%w, %g) : (!u, !u) -> !u
  return %new, %loss : !u, !t
}
func.func private @joint(%w: !u {commsched.role = "parameter"}, %x: !t
    {commsched.role = "input"}, %dl: !t {commsched.role = "tangent"}) -> (!t,
    !u) attributes {commsched.num_forward_outputs = 1} {
  %gather = commsched.all_gather %w on @dp dim(0) : !u -> !commsched.future<!t>
  %full = commsched.wait %gather : !commsched.future<!t>
  %h = arith.mulf %x, %full : !t
  %i = arith.addf %h, %x : !t
  %loss = arith.mulf %i, %h : !t
  %dh = arith.mulf %dl, %i : !t
  %dw = arith.mulf %x, %dh : !t
  %f = commsched.reduce_scatter %dw on @dp reduction(sum) dim(0) : !t -> !commsched.future<!u>
  %r = commsched.wait %f : !commsched.future<!u>
  return %loss, %r : !t, !u
}
func.func private @optimizer(%w: !u, %g: !u) -> !u {
  %c = arith.constant dense<0.125> : !u
  %s = arith.mulf %g, %c : !u
  %n = arith.subf %w, %s : !u
  return %n : !u
}
}
