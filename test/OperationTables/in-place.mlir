// The passes work on StableHLO in place: asynchronous operations are starts
// and waits, and costs follow from shapes and dimension numbers.

// RUN: commsched-opt %s --commsched-raise-comms | FileCheck %s --check-prefix=RAISE
// RUN: commsched-opt %s --commsched-schedule=memory-budget=1000000000 | FileCheck %s --check-prefix=SCHEDULE
// RUN: commsched-opt %s --commsched-estimate-runtime | FileCheck %s --check-prefix=COST
// RUN: commsched-opt %s --commsched-report -o /dev/null | FileCheck %s --check-prefix=REPORT

// REPORT: collectives {{ *}}2
// REPORT: all_gather_1 {{ *}}all_gather {{ *}}ranks 0-7 {{ *}}64.00 MiB

// RAISE-LABEL: func.func @main
// RAISE: "stablehlo.async_start"(%arg0)
// RAISE: "stablehlo.async_start"(%arg1)
// RAISE: "stablehlo.async_done"
// RAISE: "stablehlo.dot_general"
// RAISE: "stablehlo.async_done"
// RAISE: "stablehlo.dot_general"

// SCHEDULE-LABEL: func.func @main
// SCHEDULE: "stablehlo.async_start"(%arg1)
// SCHEDULE: "stablehlo.dot_general"
// SCHEDULE: "stablehlo.async_done"
// SCHEDULE: "stablehlo.dot_general"

// What is inside of a start is its definition and has no time of its own.
// COST-LABEL: func.func @main
// COST: "stablehlo.all_gather"
// COST-NOT: runtime_ns
// COST: "stablehlo.return"
// COST-NEXT: {commsched.runtime_ns = {{[1-9][0-9]*}} : i64}
// COST: "stablehlo.async_done"{{.*}}commsched.runtime_ns = 0
// COST: "stablehlo.dot_general"{{.*}}commsched.runtime_ns = [[$DOT:[0-9]+]]
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%w1: tensor<512x4096xf32>, %w2: tensor<512x4096xf32>, %x: tensor<1024x4096xf32>) -> tensor<1024x4096xf32> {
    %f1 = "stablehlo.async_start"(%w1) ({
    ^bb0(%a: tensor<512x4096xf32>):
      %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x4096xf32>) -> tensor<4096x4096xf32>
      "stablehlo.return"(%g) : (tensor<4096x4096xf32>) -> ()
    }) : (tensor<512x4096xf32>) -> !stablehlo.future<tensor<4096x4096xf32>>
    %g1 = "stablehlo.async_done"(%f1) : (!stablehlo.future<tensor<4096x4096xf32>>) -> tensor<4096x4096xf32>
    %h = "stablehlo.dot_general"(%x, %g1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
    %f2 = "stablehlo.async_start"(%w2) ({
    ^bb0(%a: tensor<512x4096xf32>):
      %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<512x4096xf32>) -> tensor<4096x4096xf32>
      "stablehlo.return"(%g) : (tensor<4096x4096xf32>) -> ()
    }) : (tensor<512x4096xf32>) -> !stablehlo.future<tensor<4096x4096xf32>>
    %g2 = "stablehlo.async_done"(%f2) : (!stablehlo.future<tensor<4096x4096xf32>>) -> tensor<4096x4096xf32>
    %y = "stablehlo.dot_general"(%h, %g2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1024x4096xf32>, tensor<4096x4096xf32>) -> tensor<1024x4096xf32>
    return %y : tensor<1024x4096xf32>
  }

  // The same product in linalg has the same cost.
  // COST-LABEL: func.func @linalg
  // COST: linalg.matmul {commsched.runtime_ns = [[$DOT]] : i64}
  func.func @linalg(%x: tensor<1024x4096xf32>, %w: tensor<4096x4096xf32>, %y: tensor<1024x4096xf32>) -> tensor<1024x4096xf32> {
    %0 = linalg.matmul ins(%x, %w : tensor<1024x4096xf32>, tensor<4096x4096xf32>) outs(%y : tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
    return %0 : tensor<1024x4096xf32>
  }
}
