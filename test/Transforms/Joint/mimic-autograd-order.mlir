// RUN: commsched-opt %s --commsched-mimic-autograd-order | FileCheck %s
// RUN: commsched-opt %s --commsched-mimic-autograd-order -o %t.mlir
// RUN: commsched-opt %t.mlir --commsched-mimic-autograd-order -o - | diff %t.mlir -

!part = tensor<4xf32>
!whole = tensor<16xf32>
!future = !commsched.future<!whole>
commsched.group @dp size(4)

// Each chain comes right before its first consumer; the backward keeps its
// order.
// CHECK-LABEL: func.func @chains
// CHECK-NEXT: "recompute_b"
// CHECK-NEXT: "grad_b"
// CHECK-NEXT: "grad_both"
// CHECK-NEXT: "recompute_a1"
// CHECK-NEXT: "recompute_a2"
// CHECK-NEXT: "grad_a"
// CHECK-NEXT: return
func.func @chains(%a: !part {commsched.role = "saved_activation"},
    %b: !part {commsched.role = "saved_activation"},
    %t: !part {commsched.role = "tangent"}) -> !part {
  %a1 = commsched.compute "recompute_a1"(%a) : (!part) -> !part
  %a2 = commsched.compute "recompute_a2"(%a1) : (!part) -> !part
  %b1 = commsched.compute "recompute_b"(%b) : (!part) -> !part
  %g1 = commsched.compute "grad_b"(%t, %b1) : (!part, !part) -> !part
  %g2 = commsched.compute "grad_both"(%g1) : (!part) -> !part
  %g3 = commsched.compute "grad_a"(%g2, %a1, %a2)
      : (!part, !part, !part) -> !part
  return %g3 : !part
}

// A gather that is repeated starts where its result is needed, whatever the
// order of gathers was; what nobody needs comes last and is not lost.
// CHECK-LABEL: func.func @collectives
// CHECK-NEXT: all_gather %{{.*}} {commsched.name = "second"}
// CHECK-NEXT: wait
// CHECK-NEXT: "grad_second"
// CHECK-NEXT: all_gather %{{.*}} {commsched.name = "first"}
// CHECK-NEXT: wait
// CHECK-NEXT: "grad_first"
// CHECK-NEXT: "returned"
// CHECK-NEXT: all_gather %{{.*}} {commsched.name = "unneeded"}
// CHECK-NEXT: wait
// CHECK-NEXT: return
func.func @collectives(%w1: !part {commsched.role = "parameter"},
    %w2: !part {commsched.role = "parameter"},
    %t: !whole {commsched.role = "tangent"}) -> (!whole, !part) {
  %r = commsched.compute "returned"(%w1) : (!part) -> !part
  %s0 = commsched.all_gather %w1 on @dp dim(0) {commsched.name = "unneeded"}
      : !part -> !future
  %s1 = commsched.all_gather %w1 on @dp dim(0) {commsched.name = "first"}
      : !part -> !future
  %s2 = commsched.all_gather %w2 on @dp dim(0) {commsched.name = "second"}
      : !part -> !future
  %f0 = commsched.wait %s0 : !future
  %f1 = commsched.wait %s1 : !future
  %f2 = commsched.wait %s2 : !future
  %g2 = commsched.compute "grad_second"(%t, %f2) : (!whole, !whole) -> !whole
  %g1 = commsched.compute "grad_first"(%g2, %f1) : (!whole, !whole) -> !whole
  return %g1, %r : !whole, !part
}

// The order of numbered collectives holds, and so does that of receives.
// CHECK-LABEL: func.func @ordered
// CHECK-NEXT: all_gather %{{.*}} {commsched.order = 0 : i64}
// CHECK-NEXT: all_gather %{{.*}} {commsched.order = 1 : i64}
// CHECK-NEXT: recv {{.*}} {commsched.name = "r1"}
// CHECK-NEXT: recv {{.*}} {commsched.name = "r2"}
// CHECK-NEXT: wait
// CHECK-NEXT: wait
// CHECK-NEXT: "grad_second"
// CHECK-NEXT: wait
// CHECK-NEXT: wait
// CHECK-NEXT: "grad_first"
func.func @ordered(%w: !part {commsched.role = "parameter"},
    %t: !whole {commsched.role = "tangent"}) -> !whole {
  %s1 = commsched.all_gather %w on @dp dim(0) {commsched.order = 0 : i64}
      : !part -> !future
  %s2 = commsched.all_gather %w on @dp dim(0) {commsched.order = 1 : i64}
      : !part -> !future
  %r1 = commsched.recv on @dp from(1) {commsched.name = "r1"} : !future
  %r2 = commsched.recv on @dp from(1) {commsched.name = "r2"} : !future
  %f1 = commsched.wait %s1 : !future
  %f2 = commsched.wait %s2 : !future
  %m1 = commsched.wait %r1 : !future
  %m2 = commsched.wait %r2 : !future
  %g2 = commsched.compute "grad_second"(%t, %f2, %m2)
      : (!whole, !whole, !whole) -> !whole
  %g1 = commsched.compute "grad_first"(%g2, %f1, %m1)
      : (!whole, !whole, !whole) -> !whole
  return %g1 : !whole
}

// What writes memory stays in front with all that it needs; random operators
// keep their order.
// CHECK-LABEL: func.func @writes
// CHECK-NEXT: "new_mean"
// CHECK-NEXT: "aten.copy_"
// CHECK-NEXT: "first_grad"
// CHECK-NEXT: "rand1"
// CHECK-NEXT: "rand2"
// CHECK-NEXT: "reads_rand2"
// CHECK-NEXT: "late"
// CHECK-NEXT: "grad"
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
  %g3 = commsched.compute "grad"(%g2, %late, %rand1)
      : (!part, !part, !part) -> !part
  return %g3 : !part
}

// A call of what nobody knows may write anything: a resize and a random operator
// before it have to come first, but not what is only computed.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: resize_storage
// CHECK-NEXT: "rand"
// CHECK-NEXT: call @callee
// CHECK-NEXT: "first_grad"
// CHECK-NEXT: "late"
// CHECK-NEXT: "grad"
func.func private @callee()
func.func @unknown(%x: !part {commsched.role = "saved_activation"},
    %p: memref<4xf32> {commsched.role = "unsharded_param"},
    %t: !part {commsched.role = "tangent"}) -> !part {
  %late = commsched.compute "late"(%x) : (!part) -> !part
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  %rand = commsched.compute "rand"() {random} : () -> !part
  func.call @callee() : () -> ()
  %g1 = commsched.compute "first_grad"(%t) : (!part) -> !part
  %g2 = commsched.compute "grad"(%g1, %late, %rand)
      : (!part, !part, !part) -> !part
  return %g2 : !part
}

// A use in a region counts where the operation stands that has the region.
// CHECK-LABEL: func.func @region
// CHECK-NEXT: scf.if
// CHECK: else
// CHECK: }
// CHECK-NEXT: "recompute"
// CHECK-NEXT: "grad"
func.func @region(%x: !part {commsched.role = "saved_activation"}, %c: i1,
    %t: !part {commsched.role = "tangent"}) -> !part {
  %r = commsched.compute "recompute"(%x) : (!part) -> !part
  %g = scf.if %c -> !part {
    %y = commsched.compute "in_region"(%t) : (!part) -> !part
    scf.yield %y : !part
  } else {
    scf.yield %x : !part
  }
  %g2 = commsched.compute "grad"(%g, %r) : (!part, !part) -> !part
  return %g2 : !part
}
