// RUN: commsched-test-opt %s --commsched-report=format=json -o /dev/null | FileCheck %s

// The simulator asks `CostOpInterface` for the times, `CollectiveOpInterface`
// for kind, stream and bytes. The exchange takes 40 ns, 30 of them under the
// second operator.

// CHECK: "function":"step"{{.*}}"num_ops":4{{.*}}"num_collectives":1{{.*}}"comm_bytes":16
// CHECK-SAME: "step_time_ns":60{{.*}}"compute_time_ns":50{{.*}}"comm_time_ns":40
// CHECK-SAME: "exposed_comm_ns":10
// CHECK-SAME: "name":"ring_exchange"{{.*}}"kind":"all_to_all"{{.*}}"group":"ring"
func.func @step(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = commsched_test.work 20(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %handle = commsched_test.exchange %x over "ring" ranks(4) {
      commsched.name = "ring_exchange", commsched.runtime_ns = 40 : i64}
      : tensor<4xf32>
  %1 = commsched_test.work 30(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = commsched_test.finish %handle : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
