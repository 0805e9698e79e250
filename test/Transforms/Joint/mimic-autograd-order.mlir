// RUN: commsched-opt %s --commsched-mimic-autograd-order | FileCheck %s
// RUN: commsched-opt %s --commsched-mimic-autograd-order -o %t.mlir
// RUN: commsched-opt %t.mlir --commsched-mimic-autograd-order -o - | diff %t.mlir -

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
func.func @chains(
    %a: tensor<4xf32> {commsched.role = "saved_activation"},
    %b: tensor<4xf32> {commsched.role = "saved_activation"},
    %t: tensor<4xf32> {commsched.role = "tangent"}) -> tensor<4xf32> {
  %a1 = commsched.compute "recompute_a1"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %a2 = commsched.compute "recompute_a2"(%a1) : (tensor<4xf32>) -> tensor<4xf32>
  %b1 = commsched.compute "recompute_b"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %g1 = commsched.compute "grad_b"(%t, %b1)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g2 = commsched.compute "grad_both"(%g1) : (tensor<4xf32>) -> tensor<4xf32>
  %g3 = commsched.compute "grad_a"(%g2, %a1, %a2)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g3 : tensor<4xf32>
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
func.func @collectives(
    %w1: tensor<4xf32> {commsched.role = "parameter"},
    %w2: tensor<4xf32> {commsched.role = "parameter"},
    %t: tensor<16xf32> {commsched.role = "tangent"})
    -> (tensor<16xf32>, tensor<4xf32>) {
  %r = commsched.compute "returned"(%w1) : (tensor<4xf32>) -> tensor<4xf32>
  %s0 = commsched.all_gather %w1 on @dp dim(0) {commsched.name = "unneeded"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %s1 = commsched.all_gather %w1 on @dp dim(0) {commsched.name = "first"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %s2 = commsched.all_gather %w2 on @dp dim(0) {commsched.name = "second"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %f0 = commsched.wait %s0 : !commsched.future<tensor<16xf32>>
  %f1 = commsched.wait %s1 : !commsched.future<tensor<16xf32>>
  %f2 = commsched.wait %s2 : !commsched.future<tensor<16xf32>>
  %g2 = commsched.compute "grad_second"(%t, %f2)
      : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %g1 = commsched.compute "grad_first"(%g2, %f1)
      : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %g1, %r : tensor<16xf32>, tensor<4xf32>
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
func.func @ordered(
    %w: tensor<4xf32> {commsched.role = "parameter"},
    %t: tensor<16xf32> {commsched.role = "tangent"}) -> tensor<16xf32> {
  %s1 = commsched.all_gather %w on @dp dim(0) {commsched.order = 0 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %s2 = commsched.all_gather %w on @dp dim(0) {commsched.order = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %r1 = commsched.recv on @dp from(1) {commsched.name = "r1"}
      : !commsched.future<tensor<16xf32>>
  %r2 = commsched.recv on @dp from(1) {commsched.name = "r2"}
      : !commsched.future<tensor<16xf32>>
  %f1 = commsched.wait %s1 : !commsched.future<tensor<16xf32>>
  %f2 = commsched.wait %s2 : !commsched.future<tensor<16xf32>>
  %m1 = commsched.wait %r1 : !commsched.future<tensor<16xf32>>
  %m2 = commsched.wait %r2 : !commsched.future<tensor<16xf32>>
  %g2 = commsched.compute "grad_second"(%t, %f2, %m2)
      : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %g1 = commsched.compute "grad_first"(%g2, %f1, %m1)
      : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %g1 : tensor<16xf32>
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
func.func @writes(
    %mean: tensor<4xf32> {commsched.role = "parameter"},
    %x: tensor<4xf32> {commsched.role = "saved_activation"},
    %t: tensor<4xf32> {commsched.role = "tangent"}) -> tensor<4xf32> {
  %late = commsched.compute "late"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %new = commsched.compute "new_mean"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %rand1 = commsched.compute "rand1"() {random} : () -> tensor<4xf32>
  %rand2 = commsched.compute "rand2"() {random} : () -> tensor<4xf32>
  %updated = commsched.compute "aten.copy_"(%mean, %new)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g1 = commsched.compute "first_grad"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  %g2 = commsched.compute "reads_rand2"(%g1, %rand2)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g3 = commsched.compute "grad"(%g2, %late, %rand1)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g3 : tensor<4xf32>
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
func.func @unknown(
    %x: tensor<4xf32> {commsched.role = "saved_activation"},
    %p: memref<4xf32> {commsched.role = "unsharded_param"},
    %t: tensor<4xf32> {commsched.role = "tangent"}) -> tensor<4xf32> {
  %late = commsched.compute "late"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  %rand = commsched.compute "rand"() {random} : () -> tensor<4xf32>
  func.call @callee() : () -> ()
  %g1 = commsched.compute "first_grad"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  %g2 = commsched.compute "grad"(%g1, %late, %rand)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g2 : tensor<4xf32>
}

// A use in a region counts where the operation stands that has the region.
// CHECK-LABEL: func.func @region
// CHECK-NEXT: scf.if
// CHECK: else
// CHECK: }
// CHECK-NEXT: "recompute"
// CHECK-NEXT: "grad"
func.func @region(
    %x: tensor<4xf32> {commsched.role = "saved_activation"}, %c: i1,
    %t: tensor<4xf32> {commsched.role = "tangent"}) -> tensor<4xf32> {
  %r = commsched.compute "recompute"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %g = scf.if %c -> tensor<4xf32> {
    %y = commsched.compute "in_region"(%t) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %g2 = commsched.compute "grad"(%g, %r)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g2 : tensor<4xf32>
}
