// RUN: commsched-test-opt %s --pass-pipeline='builtin.module(func.func(commsched-raise-comms))' \
// RUN:   | FileCheck %s --check-prefix=RAISE
// RUN: commsched-test-opt %s --pass-pipeline='builtin.module(func.func(commsched-sink-waits))' \
// RUN:   | FileCheck %s --check-prefix=SINK
// RUN: commsched-test-opt %s --pass-pipeline='builtin.module(func.func(commsched-reorder-compute-for-overlap))' \
// RUN:   | FileCheck %s --check-prefix=OVERLAP

// No operation here is CommSched's: what moves, moves through the interfaces.

// RAISE-LABEL: func.func @independent_work(
// RAISE-NEXT: commsched_test.exchange
// RAISE-NEXT: commsched_test.work 20
// RAISE-NEXT: commsched_test.finish
// RAISE-NEXT: commsched_test.work 30
// SINK-LABEL: func.func @independent_work(
// SINK-NEXT: commsched_test.work 20
// SINK-NEXT: commsched_test.exchange
// SINK-NEXT: commsched_test.work 30
// SINK-NEXT: commsched_test.finish
// OVERLAP-LABEL: func.func @independent_work(
// OVERLAP-NEXT: commsched_test.exchange
// OVERLAP-NEXT: commsched_test.work 20
// OVERLAP-NEXT: commsched_test.work 30
// OVERLAP-NEXT: commsched_test.finish
func.func @independent_work(%x: tensor<4xf32>, %y: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = commsched_test.work 20(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %handle = commsched_test.exchange %x over "ring" ranks(4) {
      commsched.runtime_ns = 40 : i64} : tensor<4xf32>
  %1 = commsched_test.finish %handle : tensor<4xf32>
  %2 = commsched_test.work 30(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// What communicates in an unknown way keeps its place among all that
// communicates; computation passes it.
// RAISE-LABEL: func.func @unknown_communication(
// RAISE-NEXT: commsched_test.probe
// RAISE-NEXT: commsched_test.exchange
// RAISE-NEXT: commsched_test.work 20
// RAISE-NEXT: commsched_test.finish
// RAISE-NEXT: commsched_test.probe
// RAISE-NEXT: commsched_test.work 30
// SINK-LABEL: func.func @unknown_communication(
// SINK-NEXT: commsched_test.work 20
// SINK-NEXT: commsched_test.probe
// SINK-NEXT: commsched_test.exchange
// SINK-NEXT: commsched_test.work 30
// SINK-NEXT: commsched_test.finish
// SINK-NEXT: commsched_test.probe
// OVERLAP-LABEL: func.func @unknown_communication(
// OVERLAP-NEXT: commsched_test.probe
// OVERLAP-NEXT: commsched_test.exchange
// OVERLAP-NEXT: commsched_test.work 20
// OVERLAP-NEXT: commsched_test.work 30
// OVERLAP-NEXT: commsched_test.finish
// OVERLAP-NEXT: commsched_test.probe
func.func @unknown_communication(%x: tensor<4xf32>, %y: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = commsched_test.work 20(%y) : (tensor<4xf32>) -> tensor<4xf32>
  commsched_test.probe
  %handle = commsched_test.exchange %x over "ring" ranks(4) {
      commsched.runtime_ns = 40 : i64} : tensor<4xf32>
  %1 = commsched_test.finish %handle : tensor<4xf32>
  commsched_test.probe
  %2 = commsched_test.work 30(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
