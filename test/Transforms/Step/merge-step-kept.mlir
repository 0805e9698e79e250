// RUN: commsched-opt %s -split-input-file %remarks --test-commsched-merge-step -o %t 2> %t.remarks
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: FileCheck %s < %t

// Micro-batches in a loop, calls in what is called, and the same function
// twice: its names get numbers. What is called from elsewhere stays.

// REMARK: [Passed] StepMerged
// REMARK-SAME: '@step' is one function now, of '@outer', '@inner'
// CHECK-LABEL: func.func @step(
// CHECK: scf.for
// CHECK-NEXT: commsched.compute "one"({{.+}}) {commsched.graph = "inner", commsched.name = "a"}
// CHECK-NEXT: commsched.compute "two"({{.+}}) {commsched.graph = "outer", commsched.name = "b"}
// CHECK-NEXT: commsched.compute "one"({{.+}}) {commsched.graph = "inner", commsched.graph_name = "a", commsched.name = "inner.a"}
// CHECK-NEXT: scf.yield
// CHECK: commsched.compute "one"({{.+}}) {commsched.graph = "inner", commsched.graph_name = "a", commsched.name = "inner.a.1"}
// CHECK: func.func @other(
// CHECK-NEXT: constant @inner
// CHECK-NOT: @outer
// CHECK: func.func private @inner
func.func @step(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<4xf32> {
    %a = func.call @outer(%v) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  }
  %z = call @inner(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
func.func @other() -> ((tensor<4xf32>) -> tensor<4xf32>) {
  %f = constant @inner : (tensor<4xf32>) -> tensor<4xf32>
  return %f : (tensor<4xf32>) -> tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = commsched.compute "two"(%a) {commsched.name = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  %c = call @inner(%b) : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = commsched.compute "one"(%x) {commsched.name = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// An operation that is called, and one of known time, remain calls.

// REMARK: [Missed] StepNotMerged
// REMARK-SAME: no public function calls another one
// CHECK-LABEL: func.func @operators(
// CHECK-NEXT: call @kernel
// CHECK-NEXT: call @kernel
func.func @operators(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @kernel(%x) {commsched.pure} : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @kernel(%a) {commsched.runtime_ns = 5 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// REMARK: [Missed] StepNotMerged
// REMARK-SAME: '@f' still calls '@external', which is only declared
// REMARK: [Missed] StepNotMerged
// REMARK-SAME: '@f' still calls '@blocks', whose body is not one block
// REMARK: [Missed] StepNotMerged
// REMARK-SAME: '@f' still calls '@again', which calls itself
// REMARK: [Missed] StepNotMerged
// REMARK-SAME: '@f' still calls '@even', which calls itself
// REMARK: [Missed] StepNotMerged
// REMARK-SAME: '@f' still calls '@f', which calls itself
// REMARK: [Missed] StepNotMerged
// REMARK-SAME: '@f' still calls '@device', which is the program of one device
// REMARK-NOT: StepNotMerged
// CHECK-LABEL: func.func @f(
// CHECK-NEXT: call @external
// CHECK-NEXT: call @blocks
// CHECK-NEXT: call @again
// CHECK-NEXT: call @even
// CHECK-NEXT: call @f
// CHECK-NEXT: call @device
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @external(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @blocks(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = call @again(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %even = call @even(%c) : (tensor<4xf32>) -> tensor<4xf32>
  %d = call @f(%even) : (tensor<4xf32>) -> tensor<4xf32>
  %e = call @device(%d) : (tensor<4xf32>) -> tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func private @device(%x: tensor<4xf32>) -> tensor<4xf32> attributes {commsched.per_device} {
  return %x : tensor<4xf32>
}
func.func private @external(%x: tensor<4xf32>) -> tensor<4xf32>
func.func private @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}
func.func private @even(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @odd(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
func.func private @odd(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @even(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
