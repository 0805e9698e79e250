// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-raise-comms | %orders | FileCheck %s --check-prefix=RAISE
// RUN: commsched-opt %t.mlir --commsched-sink-waits | %orders | FileCheck %s --check-prefix=SINK
// RUN: commsched-opt %t.mlir --commsched-reorder-compute-for-overlap \
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
  $take(%mm1 = mm1 %a, %a in 1 ns : (!t, !t) -> !t)
  $take(%relu1 = relu1 %mm1 in 0 ns : (!t) -> !t)
  $take(%mm2 = mm2 %relu1, %relu1 in 1 ns : (!t, !t) -> !t)
  %ar = commsched.all_reduce %mm1 on @g reduction(sum)
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64} : !t -> !future
  %w = commsched.wait %ar {commsched.name = "w"} : !future
  $take(%relu2 = relu2 %mm2 in 0 ns : (!t) -> !t)
  $take(%mm3 = mm3 %relu2, %relu2 in 1 ns : (!t, !t) -> !t)
  $take(%mm4 = mm4 %w, %mm3 in 1 ns : (!t, !t) -> !t)
  return %mm4 : !t
}
