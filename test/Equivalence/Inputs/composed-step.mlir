// A step with all that the features of commsched-pipeline act on: a joint
// function with gathers and reductions, an optimizer, a loop with a collective,
// two groups, a value that the step carries, and a choice of implementations.

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.preset" = "h100",
    "commsched.implementations" = {
      nccl = {tax = 0.3, latency_us = 20.0, bandwidth_gb_s = 300.0},
      "copy-engine" = {latency_us = 60.0, bandwidth_gb_s = 300.0}}>>} {
commsched.group @dp size(4)
commsched.group @tp size(4)
func.func @step(
    %w: tensor<4x4xf32> {commsched.carried = 0 : i64, commsched.role = "parameter"},
    %x: tensor<16x4xf32> {commsched.role = "input"})
    -> (tensor<4x4xf32>, tensor<16x4xf32>) {
  %one = arith.constant dense<0.5> : tensor<16x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %mixed = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<16x4xf32> {
    %f = commsched.all_reduce %a on @tp reduction(avg) : tensor<16x4xf32> -> !commsched.future<tensor<16x4xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<16x4xf32>>
    %b = arith.mulf %r, %one : tensor<16x4xf32>
    scf.yield %b : tensor<16x4xf32>
  }
  %loss, %g = call @joint(%w, %mixed, %one)
      : (tensor<4x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>) -> (tensor<16x4xf32>, tensor<4x4xf32>)
  %new = call @optimizer(%w, %g) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %new, %loss : tensor<4x4xf32>, tensor<16x4xf32>
}
func.func private @joint(
    %w: tensor<4x4xf32> {commsched.role = "parameter"},
    %x: tensor<16x4xf32> {commsched.role = "input"},
    %dl: tensor<16x4xf32> {commsched.role = "tangent"})
    -> (tensor<16x4xf32>, tensor<4x4xf32>) attributes {commsched.num_forward_outputs = 1 : i64} {
  %gather = commsched.all_gather %w on @dp dim(0) : tensor<4x4xf32> -> !commsched.future<tensor<16x4xf32>>
  %full = commsched.wait %gather : !commsched.future<tensor<16x4xf32>>
  %h = arith.mulf %x, %full : tensor<16x4xf32>
  %i = arith.addf %h, %x : tensor<16x4xf32>
  %loss = arith.mulf %i, %h : tensor<16x4xf32>
  %dh = arith.mulf %dl, %i : tensor<16x4xf32>
  %dw = arith.mulf %x, %dh : tensor<16x4xf32>
  %f = commsched.reduce_scatter %dw on @dp reduction(sum) dim(0) : tensor<16x4xf32> -> !commsched.future<tensor<4x4xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<4x4xf32>>
  return %loss, %r : tensor<16x4xf32>, tensor<4x4xf32>
}
func.func private @optimizer(%w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c = arith.constant dense<0.125> : tensor<4x4xf32>
  %s = arith.mulf %g, %c : tensor<4x4xf32>
  %n = arith.subf %w, %s : tensor<4x4xf32>
  return %n : tensor<4x4xf32>
}
}
