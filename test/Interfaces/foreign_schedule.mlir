// RUN: commsched-test-opt %s --pass-pipeline='builtin.module(func.func(commsched-raise-comms))' \
// RUN:   | %orders | FileCheck %s --check-prefix=RAISE
// RUN: commsched-test-opt %s --pass-pipeline='builtin.module(func.func(commsched-sink-waits))' \
// RUN:   | %orders | FileCheck %s --check-prefix=SINK
// RUN: commsched-test-opt %s --pass-pipeline='builtin.module(func.func(commsched-reorder-compute-for-overlap))' \
// RUN:   | %orders | FileCheck %s --check-prefix=OVERLAP

// No operation here is CommSched's: what moves, moves through the interfaces.

!t = tensor<4xf32>

// RAISE-LABEL: func.func @independent_work(
// RAISE-NEXT: // order: commsched_test.exchange before commsched_test.finish behind{{$}}
// SINK-LABEL: func.func @independent_work(
// SINK-NEXT: // order: before commsched_test.exchange behind commsched_test.finish{{$}}
// OVERLAP-LABEL: func.func @independent_work(
// OVERLAP-NEXT: // order: commsched_test.exchange before behind commsched_test.finish{{$}}
func.func @independent_work(%x: !t, %y: !t) -> (!t, !t) {
  %0 = commsched_test.work 20(%y) {commsched.name = "before"} : (!t) -> !t
  %handle = commsched_test.exchange %x over "ring" ranks(4) { commsched.runtime_ns = 40} : !t
  %1 = commsched_test.finish %handle : !t
  %2 = commsched_test.work 30(%0) {commsched.name = "behind"} : (!t) -> !t
  return %1, %2 : !t, !t
}

// What communicates in an unknown way keeps its place among all that
// communicates; computation passes it.
// RAISE-LABEL: func.func @unknown_communication(
// RAISE-NEXT: // order: commsched_test.probe commsched_test.exchange before commsched_test.finish commsched_test.probe behind{{$}}
// SINK-LABEL: func.func @unknown_communication(
// SINK-NEXT: // order: before commsched_test.probe commsched_test.exchange behind commsched_test.finish commsched_test.probe{{$}}
// OVERLAP-LABEL: func.func @unknown_communication(
// OVERLAP-NEXT: // order: commsched_test.probe commsched_test.exchange before behind commsched_test.finish commsched_test.probe{{$}}
func.func @unknown_communication(%x: !t, %y: !t) -> (!t, !t) {
  %0 = commsched_test.work 20(%y) {commsched.name = "before"} : (!t) -> !t
  commsched_test.probe
  %handle = commsched_test.exchange %x over "ring" ranks(4) { commsched.runtime_ns = 40} : !t
  %1 = commsched_test.finish %handle : !t
  commsched_test.probe
  %2 = commsched_test.work 30(%0) {commsched.name = "behind"} : (!t) -> !t
  return %1, %2 : !t, !t
}
