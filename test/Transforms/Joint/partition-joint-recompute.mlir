// What the user says of operations holds for both strategies.

// RUN: %rows %s > %t.mlir
// DEFINE: %{saved} = commsched-opt %t.mlir -o /dev/null --commsched-partition-joint="propose=- "
// RUN: %{saved} | FileCheck %s --check-prefixes=CHECK,CUT
// RUN: %{saved}strategy=default | FileCheck %s --check-prefixes=CHECK,EAGER
// RUN: %{saved}activation-memory-budget=0 | FileCheck %s --check-prefixes=CHECK,LEAST
// RUN: commsched-opt %t.mlir --commsched-partition-joint \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=CODE

// What is preferred yields to the budget; what must be does not. "none" is what
// the backward has to write to memory, so a minimum cut saves it, too.

// EAGER: "function":"policies"{{.*}}"saved":["arg0","none","ms","ps","mm"],
// CUT: "function":"policies"{{.*}}"saved":["arg0","none","ms","ps","mm"],
// LEAST: "function":"policies"{{.*}}"saved":["arg0","ms"],

!t = tensor<4xf32>

// CODE-LABEL: func.func private @policies_backward(
// CODE-NEXT: {commsched.name = "pr"
// CODE-NEXT: {commsched.name = "mr"
// CODE-NEXT: "back"
func.func @policies(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %none = commsched.compute "aten.sin"(%x) {commsched.name = "none"} : (!t) -> !t
  %ms = commsched.compute "aten.sin"(%x) {commsched.name = "ms",
      commsched.recompute = "must_save"} : (!t) -> !t
  %ps = commsched.compute "aten.sin"(%x) {commsched.name = "ps",
      commsched.recompute = "prefer_save"} : (!t) -> !t
  %pr = commsched.compute "aten.mm"(%x) {commsched.name = "pr",
      commsched.recompute = "prefer_recompute"} : (!t) -> !t
  %mr = commsched.compute "aten.mm"(%x) {commsched.name = "mr",
      commsched.recompute = "must_recompute"} : (!t) -> !t
  %mm = commsched.compute "aten.mm"(%x) {commsched.name = "mm"} : (!t) -> !t
  %y = commsched.compute "y"(%none, %ms, %ps, %pr, %mr, %mm) : (!t, !t, !t, !t, !t, !t) -> !t
  %g = commsched.compute "back"(%dy, %none, %ms, %ps, %pr, %mr, %mm)
      : (!t, !t, !t, !t, !t, !t, !t) -> !t
  return %y, %g : !t, !t
}

// Views and constants, which nothing else saves, are saved where they must be.
// "h" is what the other view shows.

// CHECK: "function":"must_save"{{.*}}"saved":["h","v","c"],

// CODE-LABEL: func.func private @must_save_backward(
// CODE-NEXT: {alias = 0 : i64, commsched.name = "u"}
// CODE-NEXT: "back"
func.func @must_save(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %h = commsched.compute "aten.mm"(%x) {commsched.name = "h",
      commsched.recompute = "must_save"} : (!t) -> !t
  %v = commsched.compute "aten.view"(%h) {commsched.name = "v", alias = 0,
      commsched.recompute = "must_save"} : (!t) -> tensor<2x2xf32>
  %u = commsched.compute "aten.view"(%h) {commsched.name = "u", alias = 0} : (!t) -> tensor<1x4xf32>
  %c = commsched.compute "aten.full"() {commsched.name = "c",
      commsched.recompute = "must_save"} : () -> !t
  %y = commsched.compute "y"(%v, %c) : (tensor<2x2xf32>, !t) -> !t
  %g = commsched.compute "back"(%dy, %v, %c, %u) : (!t, tensor<2x2xf32>, !t, tensor<1x4xf32>) -> !t
  return %y, %g : !t, !t
}
