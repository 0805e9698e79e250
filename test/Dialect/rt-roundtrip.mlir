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
