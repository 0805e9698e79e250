// Whatever the budget, random numbers are drawn once, or again from the same
// state.

// RUN: commsched-opt %s --commsched-partition-joint=strategy=default \
// RUN:   --test-commsched-verify-partition | FileCheck %s
// RUN: commsched-opt %s --test-commsched-verify-partition \
// RUN:   --commsched-partition-joint="activation-memory-budget=0 aggressive-recomputation" \
// RUN:   | FileCheck %s

// A proposal leaves the operators as they were.
// RUN: commsched-opt %s -o %t.before
// RUN: commsched-opt %s -o %t.after --commsched-partition-joint=propose=%t.json
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --check-prefix=PROPOSAL < %t.json

// What is tagged so must be drawn again: it gets a state. What is not, or only
// rather, is saved.

// PROPOSAL: "saved":["arg0","again.rng_state","never","rather#1"]

// CHECK-LABEL: func.func private @random_forward(
// CHECK-SAME: tensor<16xi8> {commsched.name = "again.rng_state"}
// CHECK-SAME: tensor<4xf32> {commsched.name = "never"}
// CHECK-SAME: tensor<4xi1> {commsched.name = "rather#1"})
// CHECK-NEXT: %[[STATE:.+]] = commsched.compute "rng.get_state"()
// CHECK-SAME: {commsched.module = "layers.0", commsched.name = "again.rng_state", commsched.partition = "forward", commsched.recompute = "must_save", random}
// CHECK-NEXT: commsched.compute "aten.rand_like"(%{{[^,]+}}, %[[STATE]])
// CHECK-NOT: random
// CHECK-NEXT: commsched.compute "aten.rand_like"{{.*}}random
// CHECK-NEXT: commsched.compute "aten.native_dropout"{{.*}}random

!t = tensor<4xf32>

// CHECK-LABEL: func.func private @random_backward(
// CHECK-SAME: %[[STATE:[^:]+]]: tensor<16xi8> {commsched.name = "again.rng_state", commsched.role = "saved_activation"}
// CHECK-NEXT: %[[AGAIN:.+]] = commsched.compute "aten.rand_like"(%{{.+}}, %[[STATE]])
// CHECK-NEXT: commsched.compute "back"(%{{.+}}, %[[AGAIN]], %{{.+}}, %{{.+}})
// CHECK-NEXT: return
func.func @random(%x: !t {commsched.role = "parameter"}, %dy: !t
    {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %again = commsched.compute "aten.rand_like"(%x) {random,
      commsched.module = "layers.0", commsched.name = "again",
      commsched.partition = "forward", commsched.recompute = "must_recompute"}
      : (!t) -> !t
  %never = commsched.compute "aten.rand_like"(%x) {random, commsched.name = "never"} : (!t) -> !t
  %rather:2 = commsched.compute "aten.native_dropout"(%x) {random,
      commsched.name = "rather", commsched.recompute = "prefer_recompute"}
      : (!t) -> (!t, tensor<4xi1>)
  %y = commsched.compute "y"(%again, %never, %rather#0) : (!t, !t, !t) -> !t
  %g = commsched.compute "back"(%dy, %again, %never, %rather#1) : (!t, !t, !t, tensor<4xi1>) -> !t
  return %y, %g : !t, !t
}
