// DEFINE: %{report} = commsched-opt --commsched-report=format=json -o /dev/null
// RUN: %{report} %s | FileCheck %s --check-prefix=BEFORE
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory > %t
// RUN: FileCheck %s < %t
// RUN: %{report} %t | FileCheck %s --check-prefix=AFTER

// Storage that several values share is made once and freed after the last of
// them, and what is written in place keeps its order.

// Two buffers that are filled in place: each is made by "empty", and gone after
// what reads it under its later name. Both are live before, one at a time after.
// BEFORE: "function":"mutation"
// BEFORE-SAME: "peak_memory_bytes":129,
// AFTER: "function":"mutation"
// AFTER-SAME: "peak_memory_bytes":66,
// CHECK-LABEL: func.func @mutation(
// CHECK-NEXT: "empty0"
// CHECK-NEXT: "fill0"
// CHECK-NEXT: "c0"
// CHECK-NEXT: "empty1"
// CHECK-NEXT: "fill1"
// CHECK-NEXT: "c1"
func.func @mutation() -> (tensor<1xi8>, tensor<1xi8>) {
  %e0 = commsched.compute "empty0"() : () -> tensor<64xi8>
  %e1 = commsched.compute "empty1"() : () -> tensor<64xi8>
  %m0 = commsched.compute "fill0"(%e0)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<64xi8>) -> tensor<64xi8>
  %m1 = commsched.compute "fill1"(%e1)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<64xi8>) -> tensor<64xi8>
  %c0 = commsched.compute "c0"(%m0) : (tensor<64xi8>) -> tensor<1xi8>
  %c1 = commsched.compute "c1"(%m1) : (tensor<64xi8>) -> tensor<1xi8>
  return %c0, %c1 : tensor<1xi8>, tensor<1xi8>
}

// A reader of what "fill" overwrites stays in front of it, and one of what it
// wrote behind, although "large" would be gone before "old" is made otherwise.
// BEFORE: "function":"readers"
// BEFORE-SAME: "peak_memory_bytes":129,
// AFTER: "function":"readers"
// AFTER-SAME: "peak_memory_bytes":129,
// CHECK-LABEL: func.func @readers(
// CHECK: "reads_old"
// CHECK: "fill"
// CHECK: "reads_new"
func.func @readers() -> (tensor<64xi8>, tensor<1xi8>) {
  %large = commsched.compute "large"() : () -> tensor<64xi8>
  %e = commsched.compute "empty"() : () -> tensor<1xi8>
  %old = commsched.compute "reads_old"(%e) : (tensor<1xi8>) -> tensor<64xi8>
  commsched.compute "fill"(%e, %large) {mutates = array<i64: 0>}
      : (tensor<1xi8>, tensor<64xi8>) -> ()
  %new = commsched.compute "reads_new"(%e) : (tensor<1xi8>) -> tensor<1xi8>
  return %old, %new : tensor<64xi8>, tensor<1xi8>
}

// Two views of one result, both written by one operation and then read by one
// operation each: one storage, free after both. So "other" runs behind them.
// BEFORE: "function":"views"
// BEFORE-SAME: "peak_memory_bytes":130,
// AFTER: "function":"views"
// AFTER-SAME: "peak_memory_bytes":67,
// CHECK-LABEL: func.func @views(
// CHECK-NEXT: "mm"
// CHECK-NEXT: "select0"
// CHECK-NEXT: "select1"
// CHECK-NEXT: "foreach"
// CHECK-NEXT: "use
// CHECK-NEXT: "use
// CHECK-NEXT: "other"
// CHECK-NEXT: "use_other"
func.func @views() -> (tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) {
  %mm = commsched.compute "mm"() : () -> tensor<2x32xi8>
  %other = commsched.compute "other"() : () -> tensor<64xi8>
  %v0 = commsched.compute "select0"(%mm) {alias = 0 : i64}
      : (tensor<2x32xi8>) -> tensor<32xi8>
  %v1 = commsched.compute "select1"(%mm) {alias = 0 : i64}
      : (tensor<2x32xi8>) -> tensor<32xi8>
  commsched.compute "foreach"(%v0, %v1) {mutates = array<i64: 0, 1>}
      : (tensor<32xi8>, tensor<32xi8>) -> ()
  %u0 = commsched.compute "use0"(%v0) : (tensor<32xi8>) -> tensor<1xi8>
  %u1 = commsched.compute "use1"(%v1) : (tensor<32xi8>) -> tensor<1xi8>
  %u2 = commsched.compute "use_other"(%other) : (tensor<64xi8>) -> tensor<1xi8>
  return %u0, %u1, %u2 : tensor<1xi8>, tensor<1xi8>, tensor<1xi8>
}

// Random operations keep their order, but nothing alive: one large buffer at a
// time is enough.
// BEFORE: "function":"side_effects"
// BEFORE-SAME: "peak_memory_bytes":193,
// AFTER: "function":"side_effects"
// AFTER-SAME: "peak_memory_bytes":66,
// CHECK-LABEL: func.func @side_effects(
// CHECK-NEXT: "a0"
// CHECK-NEXT: "r0"
// CHECK-NEXT: "a1"
// CHECK-NEXT: "r1"
// CHECK-NEXT: "a2"
// CHECK-NEXT: "r2"
func.func @side_effects() -> (tensor<1xi8>, tensor<1xi8>) {
  %a0 = commsched.compute "a0"() : () -> tensor<64xi8>
  %a1 = commsched.compute "a1"() : () -> tensor<64xi8>
  %a2 = commsched.compute "a2"() : () -> tensor<64xi8>
  %r0 = commsched.compute "r0"(%a0) {random} : (tensor<64xi8>) -> tensor<1xi8>
  %r1 = commsched.compute "r1"(%a1) {random} : (tensor<64xi8>) -> tensor<1xi8>
  commsched.compute "r2"(%a2) {random} : (tensor<64xi8>) -> ()
  return %r0, %r1 : tensor<1xi8>, tensor<1xi8>
}
