// RUN: commsched-opt %s --commsched-raise-comms | %orders | FileCheck %s --check-prefix=RAISE
// RUN: commsched-opt %s --commsched-sink-waits | %orders | FileCheck %s --check-prefix=SINK
// RUN: commsched-opt %s --commsched-reorder-compute-for-overlap \
// RUN:   | %orders | FileCheck %s --check-prefix=OVERLAP

// What each list scheduler moves. Orders of other programs are tested in
// unittests/Schedule and against PyTorch's own functions.

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @g size(2)

// The start alone, the wait alone, and both.
// RAISE-LABEL: func.func @raise_and_sink_at_once(
// RAISE-NEXT: // order: mm1 ar relu1 mm2 w relu2 mm3 mm4{{$}}
// SINK-LABEL: func.func @raise_and_sink_at_once(
// SINK-NEXT: // order: mm1 relu1 mm2 ar relu2 mm3 w mm4{{$}}
// OVERLAP-LABEL: func.func @raise_and_sink_at_once(
// OVERLAP-NEXT: // order: mm1 ar relu1 mm2 relu2 mm3 w mm4{{$}}
func.func @raise_and_sink_at_once(%a: !t) -> (!t) {
  %mm1 = commsched.compute "mm1"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (!t, !t) -> !t
  %relu1 = commsched.compute "relu1"(%mm1) {commsched.runtime_ns = 0 : i64}
      : (!t) -> !t
  %mm2 = commsched.compute "mm2"(%relu1, %relu1)
      {commsched.runtime_ns = 1 : i64} : (!t, !t) -> !t
  %ar = commsched.all_reduce %mm1 on @g reduction(sum)
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64} : !t -> !future
  %w = commsched.wait %ar {commsched.name = "w"} : !future
  %relu2 = commsched.compute "relu2"(%mm2) {commsched.runtime_ns = 0 : i64}
      : (!t) -> !t
  %mm3 = commsched.compute "mm3"(%relu2, %relu2)
      {commsched.runtime_ns = 1 : i64} : (!t, !t) -> !t
  %mm4 = commsched.compute "mm4"(%w, %mm3) {commsched.runtime_ns = 1 : i64}
      : (!t, !t) -> !t
  return %mm4 : !t
}
