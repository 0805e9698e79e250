// RUN: %rows %s | commsched-opt --test-commsched-merge-step %remarks 2> %t.remarks \
// RUN:   | %orders | FileCheck %s --implicit-check-not=func.func
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A step of three functions. What only a part says of an argument holds for the
// step; names differ, and profiles know the operations by their graphs.

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @g size(2)

// REMARK: remark: [Passed] StepMerged | Category:commsched | Function=step
// REMARK-SAME: '@step' is one function now, of '@forward', '@backward', '@optimizer'

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {commsched.carried = 0 : i64, commsched.name = "w", commsched.role = "parameter"},
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<4xf32> {commsched.carried = 1 : i64},
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {commsched.role = "input"})
// CHECK-SAME: -> (tensor<4xf32> {commsched.name = "new_w"}, tensor<4xf32>, tensor<f32>)
// CHECK-NEXT: // order: product loss backward.product all_reduce wait momentum update{{$}}
// CHECK: commsched.compute "square"{{.*}}commsched.graph = "forward", commsched.name = "product"
// CHECK: commsched.compute "derivative"{{.*}}commsched.graph = "backward", commsched.graph_name = "product", commsched.name = "backward.product"

func.func @step(%w: !t {commsched.carried = 0 : i64}, %m: !t {commsched.carried = 1 : i64}, %x: !t $in) -> (!t
    {commsched.name = "new_w"}, !t, tensor<f32>) {
  %l, %a = call @forward(%w, %x) : (!t, !t) -> (tensor<f32>, !t)
  %d = call @backward(%w, %a) : (!t, !t) -> !t
  %v, %n = call @optimizer(%w, %d, %m) : (!t, !t, !t) -> (!t, !t)
  return %v, %n, %l : !t, !t, tensor<f32>
}

func.func private @forward(%w: !t {commsched.name = "w", commsched.role = "parameter"}, %x: !t $in)
    -> (tensor<f32> {commsched.name = "loss"}, !t) {
  %a = commsched.compute "square"(%w, %x) {commsched.name = "product"} : (!t, !t) -> !t
  %l = commsched.compute "loss"(%a) : (!t) -> tensor<f32>
  return %l, %a : tensor<f32>, !t
}

func.func private @backward(%w: !t $parameter, %a: !t $saved) -> !t {
  %d = commsched.compute "derivative"(%w, %a) {commsched.name = "product"} : (!t, !t) -> !t
  $run(%r = all_reduce %d on @g reduction(sum) : !t -> !t)
  return %r : !t
}

func.func private @optimizer(%w: !t {commsched.freeable},
    %d: !t {commsched.freeable}, %m: !t {commsched.freeable}) -> (!t, !t) {
  %n = commsched.compute "momentum"(%m, %d) : (!t, !t) -> !t
  %v = commsched.compute "update"(%w, %n) : (!t, !t) -> !t
  return %v, %n : !t, !t
}
