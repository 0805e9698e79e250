// Functions with little to decide: without a backward, with nothing at all, and
// with values that no choice may touch.

// RUN: commsched-opt %s --test-commsched-verify-partition \
// RUN:   --test-commsched-fit-memory="memory-budget=1GiB host-memory=1GiB quantize=auto" \
// RUN:   | FileCheck %s
// RUN: commsched-opt %s --test-commsched-verify-partition \
// RUN:   --test-commsched-fit-memory="memory-budget=1KiB host-memory=1GiB quantize=auto" \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func private @inference_forward(
// CHECK: commsched.compute "aten.mm"
// CHECK-LABEL: func.func private @inference_backward() attributes
func.func @inference(%x: tensor<1024xbf16> {commsched.role = "input"})
    -> tensor<1024xbf16> attributes {commsched.num_forward_outputs = 1} {
  %y = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>) -> tensor<1024xbf16>
  return %y : tensor<1024xbf16>
}

// CHECK-LABEL: func.func private @nothing_forward() attributes
// CHECK-LABEL: func.func private @nothing_backward() attributes
func.func @nothing() attributes {commsched.num_forward_outputs = 0} {
  return
}

// Marks hold for any memory: `g` and `s` are computed again, the second from
// its state, and `h` and `r` are saved, since `r` is random without a mark.

// CHECK-LABEL: func.func private @marked_backward(
// CHECK-SAME: {commsched.name = "h"
// CHECK-SAME: {commsched.name = "r"
// CHECK-SAME: {commsched.name = "s.rng_state"
// CHECK-NOT: commsched.name = "h"
// CHECK-NOT: commsched.name = "r"
// CHECK-DAG: commsched.compute "aten.gelu"
// CHECK-DAG: commsched.compute "aten.dropout"{{.*}}commsched.name = "s"
func.func @marked(%x: tensor<1024xbf16> {commsched.role = "input"},
    %dy: tensor<1024xbf16> {commsched.role = "tangent"}) -> (tensor<1024xbf16>,
    tensor<1024xbf16>) attributes {commsched.num_forward_outputs = 1} {
  %h = commsched.compute "aten.mm"(%x)
      {commsched.name = "h", commsched.recompute = "must_save",
       commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>) -> tensor<1024xbf16>
  %g = commsched.compute "aten.gelu"(%h)
      {commsched.name = "g", commsched.recompute = "must_recompute",
       commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>) -> tensor<1024xbf16>
  %r = commsched.compute "aten.dropout"(%g)
      {random, commsched.name = "r", commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>) -> tensor<1024xbf16>
  %s = commsched.compute "aten.dropout"(%r)
      {random, commsched.name = "s", commsched.recompute = "must_recompute",
       commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>) -> tensor<1024xbf16>
  %y = commsched.compute "aten.mm"(%s) {commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>) -> tensor<1024xbf16>
  %ds = commsched.compute "back"(%dy, %s) {commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  %dr = commsched.compute "back"(%ds, %r) {commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  %dg = commsched.compute "back"(%dr, %g) {commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  %dx = commsched.compute "back"(%dg, %h) {commsched.runtime_ns = 1000}
      : (tensor<1024xbf16>, tensor<1024xbf16>) -> tensor<1024xbf16>
  return %y, %dx : tensor<1024xbf16>, tensor<1024xbf16>
}

// Neither joint, nor a half of anything.

// CHECK-LABEL: func.func @other(
func.func @other(%x: tensor<1024xbf16>) -> tensor<1024xbf16> {
  return %x : tensor<1024xbf16>
}
