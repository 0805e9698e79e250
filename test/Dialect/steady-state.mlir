// RUN: commsched-opt %s --verify-roundtrip | FileCheck %s -enable-var-scope
// RUN: commsched-opt %S/../Tools/Inputs/steady-trio.mlir --verify-roundtrip -o /dev/null

commsched.group @dp size(4)

// Futures are what a pipelined loop carries.
// CHECK-LABEL: func @loop
// CHECK: %[[FIRST:.+]] = commsched.all_reduce
// CHECK: %[[LAST:.+]] = scf.for {{.*}} iter_args(%[[REDUCING:.+]] = %[[FIRST]])
// CHECK: commsched.wait %[[REDUCING]]
// CHECK: %[[NEXT:.+]] = commsched.all_reduce
// CHECK: scf.yield %[[NEXT]]
// CHECK: {commsched.pipelined}
// CHECK: commsched.wait %[[LAST]]
func.func @loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%reducing = %first)
      -> !commsched.future<tensor<4xf32>> {
    %sum = commsched.wait %reducing : !commsched.future<tensor<4xf32>>
    %next = commsched.all_reduce %sum on @dp reduction(sum)
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    scf.yield %next : !commsched.future<tensor<4xf32>>
  } {commsched.pipelined}
  %sum = commsched.wait %last : !commsched.future<tensor<4xf32>>
  return %sum : tensor<4xf32>
}

// CHECK-LABEL: func @while
// CHECK: scf.while
// CHECK: attributes {commsched.pipelined}
func.func @while(%x: tensor<4xf32>, %condition: i1) -> tensor<4xf32> {
  %first = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %last = scf.while (%reducing = %first)
      : (!commsched.future<tensor<4xf32>>) -> !commsched.future<tensor<4xf32>> {
    scf.condition(%condition) %reducing : !commsched.future<tensor<4xf32>>
  } do {
  ^bb0(%reducing: !commsched.future<tensor<4xf32>>):
    %sum = commsched.wait %reducing : !commsched.future<tensor<4xf32>>
    %next = commsched.all_reduce %sum on @dp reduction(sum)
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    scf.yield %next : !commsched.future<tensor<4xf32>>
  } attributes {commsched.pipelined}
  %sum = commsched.wait %last : !commsched.future<tensor<4xf32>>
  return %sum : tensor<4xf32>
}

func.func private @step(tensor<4xf32>) -> tensor<4xf32>

// A future may stay in the state for several repetitions.
// CHECK-LABEL: func private @prologue
// CHECK-SAME: commsched.steady_state = {depth = 3 : i64, role = "prologue", step = @step}
func.func private @prologue(
    tensor<4xf32> {commsched.step_argument = 0 : i64, commsched.repetition = 0 : i64},
    tensor<4xf32> {commsched.step_argument = 0 : i64, commsched.repetition = 1 : i64})
    -> (!commsched.future<tensor<4xf32>>, !commsched.future<tensor<4xf32>>)
    attributes {commsched.steady_state = {step = @step, role = "prologue", depth = 3 : i64}}

// CHECK-LABEL: func @steady
func.func @steady(
    %older: !commsched.future<tensor<4xf32>>,
    %newer: !commsched.future<tensor<4xf32>>,
    %x: tensor<4xf32> {commsched.step_argument = 0 : i64, commsched.repetition = 0 : i64})
    -> (!commsched.future<tensor<4xf32>>, !commsched.future<tensor<4xf32>>,
        tensor<4xf32> {commsched.step_result = 0 : i64, commsched.repetition = 0 : i64})
    attributes {commsched.steady_state = {step = @step, role = "steady", depth = 3 : i64}} {
  %sum = commsched.wait %older : !commsched.future<tensor<4xf32>>
  %entering = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  return %newer, %entering, %sum
      : !commsched.future<tensor<4xf32>>, !commsched.future<tensor<4xf32>>, tensor<4xf32>
}
