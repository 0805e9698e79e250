// RUN: split-file %s %t
// RUN: commsched-opt %t/report.mlir --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %t/report.mlir
// RUN: commsched-opt %t/report.mlir --commsched-report -o /dev/null \
// RUN:   | FileCheck %t/report.mlir --check-prefix=TABLE
// RUN: commsched-opt %t/barriers.mlir --commsched-report -o /dev/null 2>&1 \
// RUN:   --remarks-filter=commsched | FileCheck %t/barriers.mlir
// RUN: not commsched-opt %t/overflow.mlir --commsched-report -o /dev/null 2>&1 \
// RUN:   | FileCheck %t/overflow.mlir

// A call is to its function what a loop is to its body.

//--- report.mlir

!t = tensor<64xf32>
commsched.group @g size(8)

// The reduction is hidden behind "mm", so that a call takes 50 and not 80.
func.func private @layer(%x: !t) -> !t {
  %f = commsched.all_reduce %x on @g reduction(sum)
      {commsched.name = "reduce", commsched.runtime_ns = 30 : i64}
      : !t -> !commsched.future<!t>
  %m = commsched.compute "mm"(%x) {commsched.runtime_ns = 40 : i64} : (!t) -> !t
  %w = commsched.wait %f : !commsched.future<!t>
  %y = commsched.compute "add"(%m, %w) {commsched.runtime_ns = 10 : i64} : (!t, !t) -> !t
  return %y : !t
}

// Two calls of two layers each, and three times one in a loop. The collective
// is one row, with the number of times that it runs.
// CHECK: "function":"step"
// CHECK-SAME: "num_collectives":7,"comm_bytes":1792,"step_time_ns":350,"compute_time_ns":350,"comm_time_ns":210,"exposed_comm_ns":0
// CHECK-SAME: "collectives":[{"name":"reduce",{{.*}}"iterations":7
// CHECK-NOT: "name":"reduce"
// CHECK: "function"
// TABLE: function @step
// TABLE: reduce {{ *}}all_reduce x 7 {{ *}}g
func.func private @two(%x: !t) -> !t {
  %y = func.call @layer(%x) : (!t) -> !t
  %z = func.call @layer(%y) : (!t) -> !t
  return %z : !t
}
func.func @step(%x: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = func.call @two(%x) : (!t) -> !t
  %b = func.call @two(%a) : (!t) -> !t
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %b) -> (!t) {
    %y = func.call @layer(%v) : (!t) -> !t
    scf.yield %y : !t
  }
  return %r : !t
}

// A call begins when the stream of its callee is idle.
// CHECK-SAME: :"behind"{{.*}}"step_time_ns":130,{{.*}}"name":"own",{{.*}}"wait_ns":0,"exposed_ns":80,
func.func @behind(%x: !t) -> (!t, !t) {
  %f = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "own", commsched.runtime_ns = 80 : i64} : !t -> !commsched.future<!t>
  %y = func.call @layer(%x) : (!t) -> !t
  %w = commsched.wait %f : !commsched.future<!t>
  return %y, %w : !t, !t
}
// 256 bytes come in, 1024 are live in the callee and 256 go out.
// CHECK: "function":"inside"{{.*}}"peak_memory_bytes":1536,{{.*}}"@scratch (inside)","bytes":1024
func.func private @scratch(%x: !t) -> !t {
  %t = commsched.compute "wide"(%x) {commsched.runtime_ns = 1 : i64} : (!t) -> tensor<256xf32>
  %y = commsched.compute "narrow"(%t) {commsched.runtime_ns = 1 : i64} : (tensor<256xf32>) -> !t
  return %y : !t
}
func.func @inside(%x: !t) -> !t {
  %y = func.call @scratch(%x) : (!t) -> !t
  return %y : !t
}

// The callee frees its first argument before it makes its second result: 512
// come in, and 768 are the most.
// CHECK: "function":"update"{{.*}}"peak_memory_bytes":768,
func.func private @optimizer(%w: !t {commsched.freeable}, %m: !t {commsched.freeable}) -> (!t, !t) {
  %w1 = commsched.compute "w"(%w) {commsched.runtime_ns = 1 : i64} : (!t) -> !t
  %m1 = commsched.compute "m"(%m) {commsched.runtime_ns = 1 : i64} : (!t) -> !t
  return %w1, %m1 : !t, !t
}
func.func @update(%w: !t {commsched.freeable}, %m: !t {commsched.freeable}) -> (!t, !t) {
  %r:2 = func.call @optimizer(%w, %m) : (!t, !t) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

// A result that is an argument takes nothing.
// CHECK: "function":"hands_on"{{.*}}"peak_memory_bytes":512,
func.func private @saves(%x: !t) -> (!t, !t) {
  %y = commsched.compute "y"(%x) {commsched.runtime_ns = 1 : i64} : (!t) -> !t
  return %y, %x : !t, !t
}
func.func @hands_on(%x: !t) -> (!t, !t) {
  %r:2 = func.call @saves(%x) : (!t) -> (!t, !t)
  return %r#0, %r#1 : !t, !t
}

//--- barriers.mlir

// Those that are called come first.
// CHECK: barriers.mlir:[[@LINE+14]]:3: {{.*}}func.call is a barrier, priced by its operands and results: @even, {{.*}}barriers.mlir:[[@LINE+17]]:1, calls itself
// CHECK: barriers.mlir:[[@LINE+17]]:3: {{.*}}func.call is a barrier, priced by its operands and results: @odd, {{.*}}barriers.mlir:[[@LINE+12]]:1, calls itself
// CHECK: barriers.mlir:[[@LINE+6]]:3: {{.*}}func.call is a barrier, priced by its operands and results: @declared, {{.*}}barriers.mlir:[[@LINE+4]]:1, has no body
// CHECK: barriers.mlir:[[@LINE+6]]:3: {{.*}}func.call_indirect is a barrier, priced by its operands and results: which function it calls is not known
// CHECK: barriers.mlir:[[@LINE+6]]:3: {{.*}}func.call is assumed to take 1000 ns, {{.*}} calls itself
// CHECK-NOT: is a barrier
func.func private @declared(tensor<4xf32>)
func.func @unknown(%x: tensor<4xf32>, %f: (tensor<4xf32>) -> ()) {
  func.call @declared(%x) : (tensor<4xf32>) -> ()
  func.call_indirect %f(%x) : (tensor<4xf32>) -> ()
  func.call @odd(%x) : (tensor<4xf32>) -> ()
  return
}
func.func @odd(%x: tensor<4xf32>) {
  func.call @even(%x) : (tensor<4xf32>) -> ()
  return
}
func.func @even(%x: tensor<4xf32>) {
  func.call @odd(%x) : (tensor<4xf32>) -> ()
  return
}

//--- overflow.mlir

// CHECK: overflow.mlir:[[@LINE+2]]:{{.*}} calls a function whose nanoseconds do not fit 64 bits
func.func @longest() {
  func.call @longer() : () -> ()
  return
}
func.func private @longer() {
  func.call @long() : () -> ()
  func.call @long() : () -> ()
  return
}
func.func private @long() {
  commsched.compute "long"() {commsched.runtime_ns = 6000000000000000000 : i64} : () -> ()
  return
}
