// RUN: commsched-opt %s --test-commsched-infer-size-hints \
// RUN:   --commsched-report=format=json -o /dev/null | FileCheck %s

// Operations by name have the costs that hints give: both functions take the
// same time and memory.

// CHECK: {"function":"static"
// CHECK-SAME: "step_time_ns":[[STEP:[0-9]+]],
// CHECK-SAME: "peak_memory_bytes":[[PEAK:[0-9]+]],
func.func @static(%x: tensor<4096x4096xf32>, %w: tensor<4096x2048xf32>) -> tensor<4096x2048xf32> {
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}>
      : (tensor<4096x4096xf32>, tensor<4096x2048xf32>) -> tensor<4096x2048xf32>
  %1 = "stablehlo.tanh"(%0) : (tensor<4096x2048xf32>) -> tensor<4096x2048xf32>
  return %1 : tensor<4096x2048xf32>
}

// CHECK: {"function":"dynamic"{{.*}}"step_time_ns":[[STEP]],{{.*}}"peak_memory_bytes":[[PEAK]],
func.func @dynamic(%x: tensor<?x4096xf32> {commsched.size_hints = array<i64: 4096>},
                   %w: tensor<4096x2048xf32>) -> tensor<?x2048xf32> {
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}>
      {commsched.size_hints = array<i64: 4096>}
      : (tensor<?x4096xf32>, tensor<4096x2048xf32>) -> tensor<?x2048xf32>
  %1 = "stablehlo.tanh"(%0) : (tensor<?x2048xf32>) -> tensor<?x2048xf32>
  return %1 : tensor<?x2048xf32>
}
