// A step and its steady state: the reduction of repetition k is in flight until
// repetition k + 1.

commsched.group @all size(4)

func.func @step(
    %sum: tensor<8x4xf32> {
      commsched.carried = 0 : i64},
    %weights: tensor<8x4xf32> {commsched.role = "parameter"},
    %x: tensor<8x4xf32> {commsched.role = "input"})
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %product = arith.mulf %x, %weights : tensor<8x4xf32>
  %reducing = commsched.all_reduce %product on @all reduction(sum)
      : tensor<8x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %reduced = commsched.wait %reducing : !commsched.future<tensor<8x4xf32>>
  %next = arith.addf %sum, %reduced : tensor<8x4xf32>
  %loss = arith.addf %x, %product : tensor<8x4xf32>
  return %next, %loss : tensor<8x4xf32>, tensor<8x4xf32>
}

func.func @step_prologue(
    %sum: tensor<8x4xf32> {commsched.step_argument = 0 : i64},
    %weights: tensor<8x4xf32> {commsched.step_argument = 1 : i64},
    %x: tensor<8x4xf32> {commsched.step_argument = 2 : i64,
                         commsched.repetition = 0 : i64})
    -> (tensor<8x4xf32>, !commsched.future<tensor<8x4xf32>>, tensor<8x4xf32>)
    attributes {commsched.steady_state = {step = @step, role = "prologue",
                                          depth = 2 : i64}} {
  %product = arith.mulf %x, %weights : tensor<8x4xf32>
  %reducing = commsched.all_reduce %product on @all reduction(sum)
      : tensor<8x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %loss = arith.addf %x, %product : tensor<8x4xf32>
  return %sum, %reducing, %loss
      : tensor<8x4xf32>, !commsched.future<tensor<8x4xf32>>, tensor<8x4xf32>
}

func.func @step_steady(
    %sum: tensor<8x4xf32>, %reducing: !commsched.future<tensor<8x4xf32>>,
    %last: tensor<8x4xf32>,
    %weights: tensor<8x4xf32> {commsched.step_argument = 1 : i64},
    %x: tensor<8x4xf32> {commsched.step_argument = 2 : i64,
                         commsched.repetition = 0 : i64})
    -> (tensor<8x4xf32>, !commsched.future<tensor<8x4xf32>>, tensor<8x4xf32>,
        tensor<8x4xf32> {commsched.step_result = 1 : i64,
                         commsched.repetition = 0 : i64})
    attributes {commsched.steady_state = {step = @step, role = "steady",
                                          depth = 2 : i64}} {
  %product = arith.mulf %x, %weights : tensor<8x4xf32>
  %entering = commsched.all_reduce %product on @all reduction(sum)
      : tensor<8x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %loss = arith.addf %x, %product : tensor<8x4xf32>
  %reduced = commsched.wait %reducing : !commsched.future<tensor<8x4xf32>>
  %next = arith.addf %sum, %reduced : tensor<8x4xf32>
  return %next, %entering, %loss, %last
      : tensor<8x4xf32>, !commsched.future<tensor<8x4xf32>>, tensor<8x4xf32>,
        tensor<8x4xf32>
}

func.func @step_epilogue(
    %sum: tensor<8x4xf32>, %reducing: !commsched.future<tensor<8x4xf32>>,
    %last: tensor<8x4xf32>)
    -> (tensor<8x4xf32> {commsched.step_result = 0 : i64,
                         commsched.repetition = 0 : i64},
        tensor<8x4xf32> {commsched.step_result = 1 : i64,
                         commsched.repetition = 0 : i64})
    attributes {commsched.steady_state = {step = @step, role = "epilogue",
                                          depth = 2 : i64}} {
  %reduced = commsched.wait %reducing : !commsched.future<tensor<8x4xf32>>
  %next = arith.addf %sum, %reduced : tensor<8x4xf32>
  return %next, %last : tensor<8x4xf32>, tensor<8x4xf32>
}
