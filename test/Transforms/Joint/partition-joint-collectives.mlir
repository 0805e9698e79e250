// Parameters that are gathered are kept, gathered again, or whichever is worth
// it. The proposals list what is saved.

// RUN: %rows %s > %t.mlir
// DEFINE: %{saved} = commsched-opt %t.mlir -o /dev/null --commsched-partition-joint="propose=- "
// RUN: %{saved} | FileCheck %s --check-prefix=SAVE
// RUN: %{saved}collectives=recompute | FileCheck %s --check-prefix=AGAIN
// RUN: %{saved}collectives=cost | FileCheck %s --check-prefix=COST

// RUN: commsched-opt %t.mlir --commsched-partition-joint=collectives=recompute \
// RUN:   --test-commsched-verify-partition | %orders | FileCheck %s

!b4 = tensor<4xi8>
!b10 = tensor<10xi8>
!b40 = tensor<40xi8>
!f40 = !commsched.future<!b40>
commsched.group @dp size(4)

// The backward needs "early" at once: gathering it again takes 60 ns that
// nothing hides. "late" is gathered while "g1" is computed, and "more" while
// that runs on, for 30 ns too long.

// SAVE: "function":"step"{{.*}}"saved":["early","more","late"],
// AGAIN: "function":"step"{{.*}}"saved":["arg0","arg1","arg2"],
// COST: "function":"step"{{.*}}"saved":["arg2","early","more"],

// Each is gathered where it is needed, by a start of its own.
// CHECK-LABEL: func.func private @step_backward(
// CHECK-NEXT: // order: early.start early g1 late.start late g2 more.start more g3{{$}}
func.func @step(%w0: !b10 $parameter, %w1: !b10 $parameter, %w2: !b10 $parameter, %dy: !b4 $tangent) -> (!b4,
    !b4) $joint {
  %s0 = commsched.all_gather %w0 on @dp dim(0) {commsched.name = "early.start",
      commsched.runtime_ns = 60} : !b10 -> !f40
  %early = commsched.wait %s0 {commsched.name = "early"} : !f40
  %s1 = commsched.all_gather %w1 on @dp dim(0) {commsched.name = "more.start",
      commsched.runtime_ns = 80} : !b10 -> !f40
  %more = commsched.wait %s1 {commsched.name = "more"} : !f40
  %s2 = commsched.all_gather %w2 on @dp dim(0) {commsched.name = "late.start",
      commsched.runtime_ns = 50} : !b10 -> !f40
  %late = commsched.wait %s2 {commsched.name = "late"} : !f40
  $take(%y = y %early, %more, %late in 10 ns : (!b40, !b40, !b40) -> !b4)
  $take(%g1 = g1 %dy, %early in 100 ns : (!b4, !b40) -> !b4)
  $take(%g2 = g2 %g1, %late in 0 ns : (!b4, !b40) -> !b4)
  $take(%g3 = g3 %g2, %more in 10 ns : (!b4, !b40) -> !b4)
  return %y, %g3 : !b4, !b4
}

// Views and casts of a gathered parameter are made again with it; what is
// computed of activations is not, nor is what an activation is gathered from.
