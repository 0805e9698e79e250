// RUN: commsched-opt %s --commsched-mimic-autograd-order | %orders | FileCheck %s
// RUN: commsched-opt %s --commsched-mimic-autograd-order -o %t.mlir %remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %t.mlir --commsched-mimic-autograd-order -o - | diff %t.mlir -

!part = tensor<4xf32>
!large = tensor<100xf32>

// Each chain comes right before its first consumer; the backward keeps its
// order. What is computed again, 400 bytes each, is no more live at once.
// REMARK: remark: [Passed] BlockReordered | Category:commsched | Function=chains | Moved=2, PeakBytesAfter=848, PeakBytesBefore=1232,
// REMARK-SAME: 2 of 3 operations in front of the backward moved to where they are needed
// CHECK-LABEL: func.func @chains
// CHECK-NEXT: // order: recompute_b grad_b grad_both recompute_a1 recompute_a2 grad_a{{$}}
func.func @chains(%a: !part {commsched.role = "saved_activation"},
    %b: !part {commsched.role = "saved_activation"},
    %t: !part {commsched.role = "tangent"}) -> !part {
  %a1 = commsched.compute "recompute_a1"(%a) : (!part) -> !large
  %a2 = commsched.compute "recompute_a2"(%a1) : (!large) -> !large
  %b1 = commsched.compute "recompute_b"(%b) : (!part) -> !large
  %g1 = commsched.compute "grad_b"(%t, %b1) : (!part, !large) -> !part
  %g2 = commsched.compute "grad_both"(%g1) : (!part) -> !part
  %g3 = commsched.compute "grad_a"(%g2, %a1, %a2) : (!part, !large, !large) -> !part
  return %g3 : !part
}

// What writes memory stays in front with all that it needs; random operators
// keep their order.
// CHECK-LABEL: func.func @writes
// CHECK-NEXT: // order: new_mean aten.copy_ first_grad rand1 rand2 reads_rand2 late grad{{$}}
func.func @writes(%mean: !part {commsched.role = "parameter"},
    %x: !part {commsched.role = "saved_activation"},
    %t: !part {commsched.role = "tangent"}) -> !part {
  %late = commsched.compute "late"(%x) : (!part) -> !part
  %new = commsched.compute "new_mean"(%x) : (!part) -> !part
  %rand1 = commsched.compute "rand1"() {random} : () -> !part
  %rand2 = commsched.compute "rand2"() {random} : () -> !part
  %updated = commsched.compute "aten.copy_"(%mean, %new)
      {alias = 0 : i64, mutates = array<i64: 0>} : (!part, !part) -> !part
  %g1 = commsched.compute "first_grad"(%t) : (!part) -> !part
  %g2 = commsched.compute "reads_rand2"(%g1, %rand2) : (!part, !part) -> !part
  %g3 = commsched.compute "grad"(%g2, %late, %rand1) : (!part, !part, !part) -> !part
  return %g3 : !part
}

// A call of what nobody knows may write anything: a resize and a random operator
// before it have to come first, but not what is only computed.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: // order: resize_storage rand call first_grad late grad{{$}}
func.func private @callee()
func.func @unknown(%x: !part {commsched.role = "saved_activation"},
    %p: memref<4xf32> {commsched.role = "unsharded_param"},
    %t: !part {commsched.role = "tangent"}) -> !part {
  %late = commsched.compute "late"(%x) : (!part) -> !part
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  %rand = commsched.compute "rand"() {random} : () -> !part
  func.call @callee() : () -> ()
  %g1 = commsched.compute "first_grad"(%t) : (!part) -> !part
  %g2 = commsched.compute "grad"(%g1, %late, %rand) : (!part, !part, !part) -> !part
  return %g2 : !part
}
