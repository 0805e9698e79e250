// A step and its steady state: the reduction of repetition k is in flight until
// repetition k + 1.

!t = tensor<8x4xf32>
commsched.group @all size(4)

func.func @step(%sum: !t {
      commsched.carried = 0 : i64},
    %weights: !t {commsched.role = "parameter"},
    %x: !t {commsched.role = "input"})
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %product = arith.mulf %x, %weights : !t
  %reducing = commsched.all_reduce %product on @all reduction(sum) : !t -> !commsched.future<!t>
  %reduced = commsched.wait %reducing : !commsched.future<!t>
  %next = arith.addf %sum, %reduced : !t
  %loss = arith.addf %x, %product : !t
  return %next, %loss : !t, !t
}

func.func @step_prologue(
    %sum: !t {commsched.step_argument = 0 : i64},
    %weights: !t {commsched.step_argument = 1 : i64},
    %x: !t {commsched.step_argument = 2 : i64,
                         commsched.repetition = 0 : i64})
    -> (!t, !commsched.future<!t>, !t)
    attributes {commsched.steady_state = {step = @step, role = "prologue", depth = 2 : i64}} {
  %product = arith.mulf %x, %weights : !t
  %reducing = commsched.all_reduce %product on @all reduction(sum) : !t -> !commsched.future<!t>
  %loss = arith.addf %x, %product : !t
  return %sum, %reducing, %loss : !t, !commsched.future<!t>, !t
}

func.func @step_steady(
    %sum: !t, %reducing: !commsched.future<!t>,
    %last: !t,
    %weights: !t {commsched.step_argument = 1 : i64},
    %x: !t {commsched.step_argument = 2 : i64,
                         commsched.repetition = 0 : i64})
    -> (!t, !commsched.future<!t>, !t,
        !t {commsched.step_result = 1 : i64,
                         commsched.repetition = 0 : i64})
    attributes {commsched.steady_state = {step = @step, role = "steady", depth = 2 : i64}} {
  %product = arith.mulf %x, %weights : !t
  %entering = commsched.all_reduce %product on @all reduction(sum) : !t -> !commsched.future<!t>
  %loss = arith.addf %x, %product : !t
  %reduced = commsched.wait %reducing : !commsched.future<!t>
  %next = arith.addf %sum, %reduced : !t
  return %next, %entering, %loss, %last : !t, !commsched.future<!t>, !t, !t
}

func.func @step_epilogue(
    %sum: !t, %reducing: !commsched.future<!t>,
    %last: !t)
    -> (!t {commsched.step_result = 0 : i64,
                         commsched.repetition = 0 : i64},
        !t {commsched.step_result = 1 : i64,
                         commsched.repetition = 0 : i64})
    attributes {commsched.steady_state = {step = @step, role = "epilogue", depth = 2 : i64}} {
  %reduced = commsched.wait %reducing : !commsched.future<!t>
  %next = arith.addf %sum, %reduced : !t
  return %next, %last : !t, !t
}
