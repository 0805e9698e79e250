// RUN: commsched-opt %s --remark-policy=all --remark-format=emitRemark \
// RUN:   --test-commsched-merge-step --remarks-filter=commsched 2> %t.remarks \
// RUN:   | FileCheck %s --implicit-check-not=func.func
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A step of three functions. What only a part says of an argument holds for the
// step; names differ, and profiles know the operations by their graphs.

commsched.group @g size(2)

// REMARK: remark: [Passed] StepMerged | Category:commsched | Function=step
// REMARK-SAME: '@step' is one function now, of '@forward', '@backward', '@optimizer'

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {commsched.carried = 0 : i64, commsched.name = "w", commsched.role = "parameter"},
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<4xf32> {commsched.carried = 1 : i64},
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {commsched.role = "input"})
// CHECK-SAME: -> (tensor<4xf32> {commsched.name = "new_w"}, tensor<4xf32>, tensor<f32>)
// CHECK: %[[A:.+]] = commsched.compute "square"(%[[W]], %[[X]])
// CHECK-SAME: commsched.graph = "forward", commsched.name = "product"
// CHECK: %[[L:.+]] = commsched.compute "loss"(%[[A]])
// CHECK: %[[D:.+]] = commsched.compute "derivative"(%[[W]], %[[A]])
// CHECK-SAME: commsched.graph = "backward", commsched.graph_name = "product", commsched.name = "backward.product"
// CHECK: %[[F:.+]] = commsched.all_reduce %[[D]] on @g
// CHECK: %[[R:.+]] = commsched.wait %[[F]]
// CHECK: %[[N:.+]] = commsched.compute "momentum"(%[[M]], %[[R]])
// CHECK: %[[V:.+]] = commsched.compute "update"(%[[W]], %[[N]])
// CHECK: return %[[V]], %[[N]], %[[L]]

func.func @step(
    %w: tensor<4xf32> {commsched.carried = 0 : i64},
    %m: tensor<4xf32> {commsched.carried = 1 : i64},
    %x: tensor<4xf32> {commsched.role = "input"})
    -> (tensor<4xf32> {commsched.name = "new_w"}, tensor<4xf32>, tensor<f32>) {
  %l, %a = call @forward(%w, %x)
      : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %d = call @backward(%w, %a)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v, %n = call @optimizer(%w, %d, %m)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>)
  return %v, %n, %l : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

func.func private @forward(
    %w: tensor<4xf32> {commsched.name = "w", commsched.role = "parameter"},
    %x: tensor<4xf32> {commsched.role = "input"})
    -> (tensor<f32> {commsched.name = "loss"}, tensor<4xf32>) {
  %a = commsched.compute "square"(%w, %x) {commsched.name = "product"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = commsched.compute "loss"(%a) : (tensor<4xf32>) -> tensor<f32>
  return %l, %a : tensor<f32>, tensor<4xf32>
}

func.func private @backward(
    %w: tensor<4xf32> {commsched.role = "parameter"},
    %a: tensor<4xf32> {commsched.role = "saved_activation"})
    -> tensor<4xf32> {
  %d = commsched.compute "derivative"(%w, %a) {commsched.name = "product"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %d on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %r : tensor<4xf32>
}

func.func private @optimizer(
    %w: tensor<4xf32> {commsched.freeable},
    %d: tensor<4xf32> {commsched.freeable},
    %m: tensor<4xf32> {commsched.freeable})
    -> (tensor<4xf32>, tensor<4xf32>) {
  %n = commsched.compute "momentum"(%m, %d)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = commsched.compute "update"(%w, %n)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %v, %n : tensor<4xf32>, tensor<4xf32>
}
