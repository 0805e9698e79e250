// Functions with little to decide: without a backward, with nothing at all, and
// with values that no choice may touch.

// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-verify-partition \
// RUN:   --test-commsched-fit-memory="memory-budget=1GiB host-memory=1GiB quantize=auto" \
// RUN:   | FileCheck %s
// RUN: commsched-opt %t.mlir --test-commsched-verify-partition \
// RUN:   --test-commsched-fit-memory="memory-budget=1KiB host-memory=1GiB quantize=auto" \
// RUN:   | FileCheck %s

!t = tensor<1024xbf16>

// CHECK-LABEL: func.func private @inference_forward(
// CHECK: commsched.compute "aten.mm"
// CHECK-LABEL: func.func private @inference_backward() attributes
func.func @inference(%x: !t $in) -> !t $joint {
  %y = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 1000} : (!t) -> !t
  return %y : !t
}

// CHECK-LABEL: func.func private @nothing_forward() attributes
// CHECK-LABEL: func.func private @nothing_backward() attributes
func.func @nothing() attributes {commsched.num_forward_outputs = 0} {
  return
}

// Marks hold for any memory: `g` and `s` are computed again, the second from
// its state, and `h` and `r` are saved, since `r` is random without a mark.

// CHECK-LABEL: func.func private @marked_backward({{.*}}{commsched.name = "h"
// CHECK-SAME: {commsched.name = "r"{{.*}}{commsched.name = "s.rng_state"
// CHECK-NOT: commsched.name = "h"
// CHECK-NOT: commsched.name = "r"
// CHECK-DAG: commsched.compute "aten.gelu"
// CHECK-DAG: commsched.compute "aten.dropout"{{.*}}commsched.name = "s"
func.func @marked(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %h = commsched.compute "aten.mm"(%x) {commsched.name = "h", commsched.recompute = "must_save",
      commsched.runtime_ns = 1000} : (!t) -> !t
  %g = commsched.compute "aten.gelu"(%h) {commsched.name = "g", commsched.recompute = "must_recompute",
      commsched.runtime_ns = 1000} : (!t) -> !t
  %r = commsched.compute "aten.dropout"(%g) {random, commsched.name = "r", commsched.runtime_ns = 1000} : (!t)
      -> !t
  %s = commsched.compute "aten.dropout"(%r) {random, commsched.name = "s",
      commsched.recompute = "must_recompute", commsched.runtime_ns = 1000} : (!t) -> !t
  %y = commsched.compute "aten.mm"(%s) {commsched.runtime_ns = 1000} : (!t) -> !t
  %ds = commsched.compute "back"(%dy, %s) {commsched.runtime_ns = 1000} : (!t, !t) -> !t
  %dr = commsched.compute "back"(%ds, %r) {commsched.runtime_ns = 1000} : (!t, !t) -> !t
  %dg = commsched.compute "back"(%dr, %g) {commsched.runtime_ns = 1000} : (!t, !t) -> !t
  %dx = commsched.compute "back"(%dg, %h) {commsched.runtime_ns = 1000} : (!t, !t) -> !t
  return %y, %dx : !t, !t
}

// Neither joint, nor a half of anything.

// CHECK-LABEL: func.func @other(
func.func @other(%x: !t) -> !t {
  return %x : !t
}
