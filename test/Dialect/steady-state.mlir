// RUN: commsched-opt %s --verify-roundtrip -o /dev/null
// RUN: commsched-opt %S/../Tools/Inputs/steady-trio.mlir --verify-roundtrip -o /dev/null

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @dp size(4)

// Futures are what a pipelined loop carries.
func.func @loop(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%reducing = %first) -> !future {
    %sum = commsched.wait %reducing : !future
    %next = commsched.all_reduce %sum on @dp reduction(sum) : !t -> !future
    scf.yield %next : !future
  } {commsched.pipelined}
  %sum = commsched.wait %last : !future
  return %sum : !t
}

func.func @while(%x: !t, %condition: i1) -> !t {
  %first = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %last = scf.while (%reducing = %first) : (!future) -> !future {
    scf.condition(%condition) %reducing : !future
  } do {
  ^bb0(%reducing: !future):
    %sum = commsched.wait %reducing : !future
    %next = commsched.all_reduce %sum on @dp reduction(sum) : !t -> !future
    scf.yield %next : !future
  } attributes {commsched.pipelined}
  %sum = commsched.wait %last : !future
  return %sum : !t
}

func.func private @step(!t) -> !t

// A future may stay in the state for several repetitions.
func.func private @prologue(
    !t {commsched.step_argument = 0 : i64, commsched.repetition = 0 : i64},
    !t {commsched.step_argument = 0 : i64, commsched.repetition = 1 : i64})
    -> (!future, !future)
    attributes {commsched.steady_state = {step = @step, role = "prologue", depth = 3 : i64}}

func.func @steady(%older: !future, %newer: !future,
    %x: !t {commsched.step_argument = 0 : i64, commsched.repetition = 0 : i64})
    -> (!future, !future,
        !t {commsched.step_result = 0 : i64, commsched.repetition = 0 : i64})
    attributes {commsched.steady_state = {step = @step, role = "steady", depth = 3 : i64}} {
  %sum = commsched.wait %older : !future
  %entering = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  return %newer, %entering, %sum : !future, !future, !t
}
