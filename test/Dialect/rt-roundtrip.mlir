// RUN: commsched-opt %s | commsched-opt | FileCheck %s
// RUN: commsched-opt %s --mlir-print-op-generic | commsched-opt | FileCheck %s
// RUN: commsched-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// The kind is printed as a string, and read as a string or a keyword.

// CHECK-LABEL: func.func @kinds
func.func @kinds(%x: tensor<4xf32>) {
  // CHECK: commsched_rt.start "all_gather" "a" on @g
  // GENERIC: kind = #commsched_rt<kind all_gather>
  %0 = commsched_rt.start "all_gather" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %0
  // CHECK: commsched_rt.start "all_gather" "a" on @g
  %1 = commsched_rt.start all_gather "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %1
  // CHECK: commsched_rt.start "reduce_scatter"
  %2 = commsched_rt.start reduce_scatter "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %2
  // CHECK: commsched_rt.start "all_reduce"
  %3 = commsched_rt.start "all_reduce" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %3
  // CHECK: commsched_rt.start "all_to_all"
  %4 = commsched_rt.start "all_to_all" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %4
  // CHECK: commsched_rt.start "broadcast"
  %5 = commsched_rt.start "broadcast" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %5
  // CHECK: commsched_rt.start "permute"
  %6 = commsched_rt.start "permute" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %6
  // CHECK: commsched_rt.start "send" "s" on @g ins(
  %7 = commsched_rt.start "send" "s" on @g ins(%x : tensor<4xf32>) {received = array<i64: 0>, sent = array<i64: 4>} : !commsched_rt.request
  commsched_rt.wait %7 ins(%x : tensor<4xf32>)
  // CHECK: commsched_rt.start "recv"
  %8 = commsched_rt.start "recv" "a" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %8
  return
}

// CHECK-LABEL: func.func @split_values
func.func @split_values(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>,
                        %s: tensor<2xi64>, %n: index) {
  // CHECK: %[[SENT:.*]], %{{.*}} = commsched_rt.read_splits ins(%{{.*}} : tensor<2xi64>)
  %sent, %rows = commsched_rt.read_splits ins(%s : tensor<2xi64>)
  // CHECK: %[[RECEIVED:.*]], %[[ROWS:.*]] = commsched_rt.read_splits output ins(%{{.*}} : tensor<2xi64>)
  %received, %sum = commsched_rt.read_splits output ins(%s : tensor<2xi64>)
  // CHECK: commsched_rt.start "all_to_all" "a" on @g ins(%{{.*}} : tensor<?x4xf32>) outs(%{{.*}} : tensor<?x4xf32>) send_rows(%[[SENT]], %{{.*}}) receive_rows(%[[RECEIVED]], %[[ROWS]])
  %r, %b = commsched_rt.start "all_to_all" "a" on @g ins(%x : tensor<?x4xf32>) outs(%y : tensor<?x4xf32>) send_rows(%sent, %n) receive_rows(%received, %sum) {received = array<i64: 0>, sent = array<i64: 0>, row = array<i64: 4>} : !commsched_rt.request, tensor<?x4xf32>
  %z = commsched_rt.wait %r ins(%x : tensor<?x4xf32>) outs(%b : tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// CHECK-LABEL: func.func @implementations
func.func @implementations() {
  // CHECK: implementation = #commsched_rt.implementation<"nccl-4", "nccl", channels = 4>
  %0 = commsched_rt.start "all_gather" "a" on @g {implementation = #commsched_rt.implementation<"nccl-4", "nccl", channels = 4>, received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %0
  // CHECK: commsched_rt.barrier "b" on @g {implementation = #commsched_rt.implementation<"second", "nccl", stream = "nccl">}
  commsched_rt.barrier "b" on @g {implementation = #commsched_rt.implementation<"second", "nccl", stream = "nccl">}
  return
}
