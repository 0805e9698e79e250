// Parameters that are gathered are kept, gathered again, or whichever is worth
// it. The proposals list what is saved.

// DEFINE: %{saved} = commsched-opt %s -o /dev/null --commsched-partition-joint="propose=- "
// RUN: %{saved} | FileCheck %s --check-prefix=SAVE
// RUN: %{saved}collectives=recompute | FileCheck %s --check-prefix=AGAIN
// RUN: %{saved}collectives=cost | FileCheck %s --check-prefix=COST

// RUN: commsched-opt %s --commsched-partition-joint=collectives=recompute \
// RUN:   --test-commsched-verify-partition | FileCheck %s

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
// CHECK-NEXT: all_gather {{.*}}"early.start"
// CHECK-NEXT: wait {{.*}}"early"
// CHECK-NEXT: "g1"
// CHECK-NEXT: all_gather {{.*}}"late.start"
// CHECK-NEXT: wait {{.*}}"late"
// CHECK-NEXT: "g2"
// CHECK-NEXT: all_gather {{.*}}"more.start"
// CHECK-NEXT: wait {{.*}}"more"
// CHECK-NEXT: "g3"
func.func @step(%w0: !b10 {commsched.role = "parameter"}, %w1: !b10
    {commsched.role = "parameter"}, %w2: !b10 {commsched.role = "parameter"},
    %dy: !b4 {commsched.role = "tangent"}) -> (!b4, !b4)
    attributes {commsched.num_forward_outputs = 1} {
  %s0 = commsched.all_gather %w0 on @dp dim(0) {commsched.name = "early.start",
      commsched.runtime_ns = 60} : !b10 -> !f40
  %early = commsched.wait %s0 {commsched.name = "early"} : !f40
  %s1 = commsched.all_gather %w1 on @dp dim(0) {commsched.name = "more.start",
      commsched.runtime_ns = 80} : !b10 -> !f40
  %more = commsched.wait %s1 {commsched.name = "more"} : !f40
  %s2 = commsched.all_gather %w2 on @dp dim(0) {commsched.name = "late.start",
      commsched.runtime_ns = 50} : !b10 -> !f40
  %late = commsched.wait %s2 {commsched.name = "late"} : !f40
  %y = commsched.compute "y"(%early, %more, %late)
      {commsched.runtime_ns = 10} : (!b40, !b40, !b40) -> !b4
  %g1 = commsched.compute "g1"(%dy, %early) {commsched.runtime_ns = 100}
      : (!b4, !b40) -> !b4
  %g2 = commsched.compute "g2"(%g1, %late) {commsched.runtime_ns = 0}
      : (!b4, !b40) -> !b4
  %g3 = commsched.compute "g3"(%g2, %more) {commsched.runtime_ns = 10}
      : (!b4, !b40) -> !b4
  return %y, %g3 : !b4, !b4
}

// Views and casts of a gathered parameter are made again with it; what is
// computed of activations is not, nor is what an activation is gathered from.
