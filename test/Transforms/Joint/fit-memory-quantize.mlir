// Saved activations become 8-bit where the casts take less than everything else
// that fits, and only if that is allowed: it changes results.

// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-fit-memory="memory-budget=15MiB quantize=auto" \
// RUN:   --test-commsched-verify-partition --remarks-filter=commsched.* 2>&1 | FileCheck %s
// RUN: %prints commsched-opt %t.mlir --commsched-pipeline="memory-budget=15MiB quantize=auto" \
// RUN:   'func.func private @step_backward({{.*}}f8E5M2'
// RUN: commsched-opt %t.mlir --test-commsched-fit-memory="memory-budget=15MiB" \
// RUN:   | FileCheck %s --check-prefix=SAME
// RUN: commsched-opt %t.mlir --test-commsched-fit-memory="memory-budget=1GiB quantize=auto" \
// RUN:   | FileCheck %s --check-prefix=SAME
// SAME-NOT: f8E5M2

// Where the host has no room for the value, it has for its 8 bits.
// RUN: commsched-opt %t.mlir --test-commsched-fit-memory="memory-budget=13MiB quantize=auto host-memory=6MiB" \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=HOST
// HOST-LABEL: func.func private @step_forward({{.*}}tensor<1024x4096xf8E5M2, #commsched.host>

// RUN: %fails commsched-opt %t.mlir --commsched-pipeline="quantize=auto" "option 'quantize' of pipeline 'commsched-pipeline' needs a 'memory-budget' in bytes such as 64GiB, but that is '5%%'"

!t = tensor<10xbf16>
!u = tensor<1024x4096xbf16>

// CHECK-DAG: MemoryFitted{{.*}}in 8 bits
// CHECK-DAG: ActivationQuantized{{.*}}saved value 0 becomes f8E5M2
// CHECK: func.func private @step_forward(
// CHECK-SAME: tensor<1024x4096xf8E5M2> {commsched.name = "a"}, tensor<1024x1xf32>
// CHECK: func.func private @step_backward({{.*}}tensor<1024x4096xf8E5M2> {commsched.name = "a"
// CHECK-SAME: tensor<1024x1xf32> {commsched.name = "a.scale"
func.func @step(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %a = commsched.compute "aten.mm"(%x)
      {commsched.name = "a", commsched.runtime_ns = 900000 : i64} : (!t) -> !u
  %b = commsched.compute "aten.mm"(%a)
      {commsched.name = "b", commsched.runtime_ns = 900000 : i64} : (!u) -> !t
  $take(%c = aten.mm %b in 900000 ns : (!t) -> !t)
  $take(%t = aten.mm %c in 900000 ns : (!t) -> tensor<2048x2560xbf16>)
  $take(%y = y %t in 900000 ns : (tensor<2048x2560xbf16>) -> !t)
  $take(%dt = back %dy in 900000 ns : (!t) -> !t)
  $take(%da = back %dt, %a in 900000 ns : (!t, !u) -> !t)
  return %y, %da : !t, !t
}
