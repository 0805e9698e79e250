// RUN: commsched-opt %s --commsched-quantize-activations=size-in-mb=16 -o %t
// RUN: commsched-opt %t --commsched-estimate-runtime | FileCheck %s
// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// RUN: commsched-opt %t --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=AFTER

// What conversions cost, by the bytes that they move; and that 32 MiB of bf16,
// which live to the end of the forward, become 16 MiB and 16 KiB of scales.

// CHECK-LABEL: func.func @f_forward
// CHECK: commsched.name = "h.amax", commsched.runtime_ns = 12140 : i64}
// CHECK: commsched.name = "h.scale", commsched.runtime_ns = 1011 : i64}
// CHECK: commsched.name = "h.quantize", commsched.runtime_ns = 17699 : i64}
// CHECK-LABEL: func.func @f_backward
// CHECK: commsched.name = "h.dequantize", commsched.runtime_ns = 17699 : i64}

// The input, h, y and z; afterwards what is saved in place of h, with z.
// BEFORE: "function":"f_forward"
// BEFORE-SAME: "peak_memory_bytes":134217728,

!t = tensor<4096x4096xbf16>

// AFTER: "function":"f_forward"
// AFTER-SAME: "peak_memory_bytes":117456896,
func.func @f_forward(%x: !t {commsched.role = "input"}) -> (!t, !t) {
  %h = commsched.compute "h"(%x) : (!t) -> !t
  %y = commsched.compute "y"(%h) : (!t) -> !t
  %z = commsched.compute "z"(%y) : (!t) -> !t
  return %z, %h : !t, !t
}
func.func @f_backward(%h: !t {commsched.name = "h",
                                commsched.role = "saved_activation"},
    %t: !t {commsched.role = "tangent", commsched.freeable}) -> !t {
  %a = commsched.compute "a"(%t) : (!t) -> !t
  %b = commsched.compute "b"(%a) : (!t) -> !t
  %c = commsched.compute "c"(%b, %h) : (!t, !t) -> !t
  return %c : !t
}

func.func @f(%x0: !t {commsched.role = "input"}, %x1: !t {commsched.role = "tangent", commsched.freeable})
    -> (!t, !t) {
  %f:2 = call @f_forward(%x0) : (!t) -> (!t, !t)
  %b = call @f_backward(%f#1, %x1)
      : (!t, !t) -> !t
  return %f#0, %b : !t, !t
}
