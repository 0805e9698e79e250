// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --split-input-file --commsched-partition-joint | %orders | FileCheck %s
// RUN: commsched-opt %t.mlir --split-input-file --commsched-partition-joint \
// RUN:   --test-commsched-verify-partition -o /dev/null

// What nothing calls is the function that calls its halves. Primals go to the
// forward and tangents to the backward, wherever they stand.
// What is saved keeps its order and name on both sides, an argument that is
// handed through its attributes as well.

// CHECK-LABEL: func.func private @ports(
// CHECK-SAME: %[[W:[^:]+]]: tensor<4x4xf32> {commsched.name = "w", commsched.role = "parameter"},
// CHECK-SAME: %[[T:[^:]+]]: tensor<2x4xf32> {commsched.role = "tangent"},
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x4xf32> {commsched.role = "input"})
// CHECK-SAME: attributes {test.kept = 1 : i32}
// CHECK-NEXT: // order:{{.*}}
// CHECK-NEXT: %[[F:.+]]:4 = call @ports_forward(%[[W]], %[[X]])
// CHECK-NEXT: %[[B:.+]]:2 = call @ports_backward(%[[F]]#1, %[[F]]#2, %[[F]]#3, %[[T]])
// CHECK-NEXT: return %[[F]]#0, %[[B]]#0, %[[B]]#1

// CHECK-LABEL: func.func private @ports_forward(
// CHECK-SAME: %[[W:[^:]+]]: tensor<4x4xf32> {commsched.name = "w", commsched.role = "parameter"},
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x4xf32> {commsched.role = "input"})
// CHECK-SAME: -> (tensor<2x4xf32> {commsched.name = "y"}, tensor<4x4xf32> {commsched.name = "w"},
// CHECK-SAME: tensor<2x4xf32> {commsched.name = "arg2"}, tensor<2x4xf32> {commsched.name = "h"})
// CHECK-SAME: attributes {commsched.graph = "ports", test.kept = 1 : i32}
// CHECK-NEXT: // order: h relu{{$}}
// CHECK: return {test.end}

!t = tensor<2x4xf32>

// CHECK-LABEL: func.func private @ports_backward(
// CHECK-SAME: %[[W:[^:]+]]: tensor<4x4xf32> {commsched.name = "w", commsched.role = "parameter"},
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x4xf32> {commsched.name = "arg2", commsched.role = "input"},
// CHECK-SAME: %[[H:[^:]+]]: tensor<2x4xf32> {commsched.name = "h", commsched.role = "saved_activation"},
// CHECK-SAME: %[[T:[^:]+]]: tensor<2x4xf32> {commsched.role = "tangent"})
// CHECK-SAME: -> (tensor<4x4xf32> {commsched.name = "dw"}, tensor<2x4xf32>)
// CHECK-SAME: attributes {commsched.graph = "ports", test.kept = 1 : i32}
// CHECK-NEXT: // order: relu_backward mm mm{{$}}
// CHECK: return {test.end}
func.func private @ports(%w: tensor<4x4xf32> {commsched.name = "w", commsched.role = "parameter"},
    %dy: !t $tangent, %x: !t $in) -> (!t {commsched.name = "y"}, tensor<4x4xf32> {commsched.name = "dw"}, !t)
    attributes {commsched.num_forward_outputs = 1 : i64, commsched.saved_values = ["h"],
    commsched.baseline_peak_bytes = 7 : i64, test.kept = 1 : i32} {
  %h = commsched.compute "mm"(%x, %w) {commsched.name = "h"} : (!t, tensor<4x4xf32>) -> !t
  %y = commsched.compute "relu"(%h) : (!t) -> !t
  %dh = commsched.compute "relu_backward"(%dy, %h) : (!t, !t) -> !t
  %dw = commsched.compute "mm"(%x, %dh) : (!t, !t) -> tensor<4x4xf32>
  %dx = commsched.compute "mm"(%dh, %w) : (!t, tensor<4x4xf32>) -> !t
  return {test.end} %y, %dw, %dx : !t, tensor<4x4xf32>, !t
}

// -----

// What is not saved is computed again, with the collective that a policy lets
// be repeated; constants are in both halves.

!t = tensor<8xf32>
commsched.group @dp size(4)

// CHECK-LABEL: func.func private @recomputed_forward(
// CHECK-SAME: -> (tensor<8xf32>, tensor<2xf32> {commsched.name = "arg0"}, tensor<8xf32> {commsched.name = "arg1"})
// CHECK-NEXT: // order: {{.*}}all_gather wait mul gelu{{$}}

// CHECK-LABEL: func.func private @recomputed_backward(
// CHECK-SAME: %[[SHARD:[^:]+]]: tensor<2xf32> {commsched.name = "arg0", commsched.role = "parameter"},
// CHECK-SAME: %[[X:[^:]+]]: tensor<8xf32> {commsched.name = "arg1", commsched.role = "input"},
// CHECK-SAME: %[[T:[^:]+]]: tensor<8xf32> {commsched.role = "tangent"}) -> (tensor<8xf32>, tensor<2xf32>)
// CHECK-NEXT: // order: {{.*}}all_gather wait mul gelu_backward reduce_scatter wait{{$}}
func.func @recomputed(%shard: tensor<2xf32> $parameter, %x: !t $in, %dy: !t $tangent) -> (!t, !t,
    tensor<2xf32>) attributes {commsched.num_forward_outputs = 1, commsched.saved_values = []} {
  %two = arith.constant dense<2.0> : !t
  %start = commsched.all_gather %shard on @dp dim(0)
      {commsched.recompute = "must_recompute"}
      : tensor<2xf32> -> !commsched.future<!t>
  %w = commsched.wait %start {commsched.recompute = "must_recompute"} : !commsched.future<!t>
  %m = commsched.compute "mul"(%x, %w, %two) : (!t, !t, !t) -> !t
  %y = commsched.compute "gelu"(%m) : (!t) -> !t
  %dx = commsched.compute "gelu_backward"(%dy, %m) : (!t, !t) -> !t
  $run(%dw = reduce_scatter %dx on @dp reduction(sum) dim(0)
      : !t -> tensor<2xf32>)
  return %y, %dx, %dw : !t, !t, tensor<2xf32>
}
