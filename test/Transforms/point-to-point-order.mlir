// RUN: %rows %s > %t.mlir

// Sends and receives keep their order in every pass that merges collectives, and no
// collective of their group crosses them. random-budgets.test has those that move.

// RUN: commsched-opt %t.mlir --commsched-bucket="kinds=permute mode=copy" | FileCheck %s --check-prefixes=CHECK,ALL,LAST
// RUN: commsched-opt %t.mlir --commsched-bucket="kinds=permute mode=coalesced" | FileCheck %s --check-prefixes=CHECK,ALL,LAST
// RUN: commsched-opt %t.mlir --commsched-pipeline=memory-budget=100%% | FileCheck %s --check-prefixes=CHECK,LAST
// RUN: commsched-opt %t.mlir --commsched-schedule=memory-budget=100%% | FileCheck %s --check-prefixes=CHECK,LAST
// RUN: commsched-opt %t.mlir --commsched-schedule="buckets=off memory-budget=1" | FileCheck %s

!t = tensor<64x64xf32>

commsched.group @pp size(4)

// The permutes on one side of a message are neighbours that may be merged; the
// product, which needs the first of them, is why schedules do not merge all. The
// second message has its operand early and could be raised above the first one;
// the last receive could be, too.
// CHECK-LABEL: func.func @messages(
// ALL: commsched.permute {{.*}}"a+b"
// CHECK: commsched.send %{{.+}} on @pp to(1) tag(1)
// CHECK: commsched.recv on @pp from(3) tag(1)
// CHECK: commsched.send %{{.+}} on @pp to(2) tag(2)
// LAST: commsched.permute {{.*}}"c+d"
// CHECK: commsched.recv on @pp from(2) tag(2)
// CHECK: return
func.func @messages(%x: !t, %y: !t, %z: !t) -> (!t, !t, !t, !t, !t, !t) {
  $run(%wa = permute %x on @pp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) {commsched.name = "a"} : !t -> !t)
  $run(%wb = permute %y on @pp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) {commsched.name = "b"} : !t -> !t)
  %m = commsched.compute "aten.mm"(%x, %wa) {flops = 1.0e9 : f64} : (!t, !t) -> !t
  %s1 = commsched.send %m on @pp to(1) tag(1) : !t -> !commsched.future
  %r1 = commsched.recv on @pp from(3) tag(1) : !commsched.future<!t>
  %v1 = commsched.wait %r1 : !commsched.future<!t>
  commsched.wait %s1 : !commsched.future
  %s2 = commsched.send %z on @pp to(2) tag(2) : !t -> !commsched.future
  commsched.wait %s2 : !commsched.future
  $run(%wc = permute %x on @pp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) {commsched.name = "c"} : !t -> !t)
  $run(%wd = permute %z on @pp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) {commsched.name = "d"} : !t -> !t)
  %n = commsched.compute "aten.mm"(%wc, %v1) {flops = 1.0e9 : f64} : (!t, !t) -> !t
  %r2 = commsched.recv on @pp from(2) tag(2) : !commsched.future<!t>
  %v2 = commsched.wait %r2 : !commsched.future<!t>
  return %wb, %n, %v2, %wd, %m, %v1 : !t, !t, !t, !t, !t, !t
}
