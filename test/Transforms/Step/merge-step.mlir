// RUN: commsched-opt %s --remark-policy=all --remark-format=emitRemark \
// RUN:   --test-commsched-merge-step --remarks-filter=commsched 2> %t.remarks \
// RUN:   | FileCheck %s --implicit-check-not=func.func
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: commsched-opt %s --test-commsched-merge-step=name=forward \
// RUN:   | FileCheck %s --check-prefix=NAME --implicit-check-not=func.func

// A step of three functions. The parameter is one argument, which the optimizer
// may free; what the forward saves is a value of the body; the state of the
// optimizer comes from the previous repetition; the results are the loss, which
// nothing takes, and what the next repetition takes.

commsched.group @g size(2)

// REMARK: remark: [Passed] StepMerged | Category:commsched | Function=step
// REMARK-SAME: '@forward', '@backward', '@optimizer' are '@step' now, which takes 3 values and returns 3

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {commsched.freeable, commsched.name = "w", commsched.role = "parameter", commsched.source = {function = @step, iterations = 1 : i64, result = 1 : i64}},
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {commsched.role = "input"},
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<4xf32> {commsched.source = {function = @step, iterations = 1 : i64, result = 2 : i64}})
// CHECK-SAME: -> (tensor<f32> {commsched.name = "loss"}, tensor<4xf32> {commsched.name = "new_w"}, tensor<4xf32>)
// CHECK-NOT: attributes
// CHECK: %[[A:.+]] = commsched.compute "square"(%[[W]], %[[X]])
// CHECK-SAME: commsched.name = "product"
// CHECK: %[[L:.+]] = commsched.compute "loss"(%[[A]])
// CHECK: %[[D:.+]] = commsched.compute "derivative"(%[[W]], %[[A]])
// CHECK-SAME: commsched.name = "backward.product"
// CHECK: %[[F:.+]] = commsched.all_reduce %[[D]] on @g
// CHECK: %[[R:.+]] = commsched.wait %[[F]]
// CHECK: %[[N:.+]] = commsched.compute "momentum"(%[[M]], %[[R]])
// CHECK: %[[V:.+]] = commsched.compute "update"(%[[W]], %[[N]])
// CHECK: return %[[L]], %[[V]], %[[N]]

// NAME: func.func @forward(
// NAME-SAME: commsched.source = {function = @forward, iterations = 1 : i64, result = 1 : i64}

func.func @forward(
    %w: tensor<4xf32> {commsched.name = "w", commsched.role = "parameter",
      commsched.source = {function = @optimizer, result = 0 : i64,
                          iterations = 1 : i64}},
    %x: tensor<4xf32> {commsched.role = "input"})
    -> (tensor<f32> {commsched.name = "loss"}, tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.backward = @backward, commsched.joint = "joint",
                commsched.num_forward_outputs = 1 : i64} {
  %a = commsched.compute "square"(%w, %x) {commsched.name = "product"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = commsched.compute "loss"(%a) : (tensor<4xf32>) -> tensor<f32>
  return %l, %w, %a : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

func.func @backward(
    %w: tensor<4xf32> {commsched.role = "parameter",
      commsched.source = {function = @forward, result = 1 : i64}},
    %a: tensor<4xf32> {commsched.role = "saved_activation",
      commsched.source = {function = @forward, result = 2 : i64}})
    -> tensor<4xf32>
    attributes {commsched.forward = @forward, commsched.joint = "joint"} {
  %d = commsched.compute "derivative"(%w, %a) {commsched.name = "product"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %d on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %r : tensor<4xf32>
}

func.func @optimizer(
    %w: tensor<4xf32> {commsched.freeable,
      commsched.source = {function = @forward, result = 1 : i64}},
    %d: tensor<4xf32> {commsched.freeable,
      commsched.source = {function = @backward, result = 0 : i64}},
    %m: tensor<4xf32> {
      commsched.source = {function = @optimizer, result = 1 : i64,
                          iterations = 1 : i64}})
    -> (tensor<4xf32> {commsched.name = "new_w"}, tensor<4xf32>) {
  %n = commsched.compute "momentum"(%m, %d)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = commsched.compute "update"(%w, %n)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %v, %n : tensor<4xf32>, tensor<4xf32>
}
