// RUN: commsched-opt %s --test-commsched-merge-step | FileCheck %s

// The same repetition and the next one take the state: it stays a result.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<4xf32> {commsched.source = {function = @step, iterations = 1 : i64, result = 0 : i64}})
// CHECK: %[[N:.+]] = commsched.compute "next"(%[[S]])
// CHECK: %[[L:.+]] = commsched.compute "loss"(%[[N]])
// CHECK: return %[[N]], %[[L]]

func.func @forward(
    %s: tensor<4xf32> {commsched.source = {function = @forward,
      result = 0 : i64, iterations = 1 : i64}}) -> tensor<4xf32> {
  %n = commsched.compute "next"(%s) : (tensor<4xf32>) -> tensor<4xf32>
  return %n : tensor<4xf32>
}

func.func @loss(
    %n: tensor<4xf32> {commsched.source = {function = @forward,
      result = 0 : i64}}) -> tensor<f32> {
  %l = commsched.compute "loss"(%n) : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
