// A module with several joint functions, and others: each calls its halves.

// RUN: commsched-opt %s --commsched-partition-joint -o %t.mlir
// RUN: %orders < %t.mlir | FileCheck %s
// RUN: commsched-opt %s --commsched-partition-joint=mimic-autograd-order=false -o %t.in-front.mlir
// RUN: %orders < %t.in-front.mlir | FileCheck %s --check-prefix=FRONT

// The pass by itself makes of the one what the option makes at once.
// RUN: commsched-opt %t.in-front.mlir --commsched-mimic-autograd-order | diff %t.mlir -

// The same partition, from what one rank proposed: agreed on, or by hand.
// RUN: commsched-opt %s --commsched-partition-joint=propose=%t.json -o /dev/null
// RUN: commsched-opt %s --commsched-partition-joint=proposals=%t.json,%t.json \
// RUN:   --test-commsched-verify-partition | diff %t.mlir -

// CHECK: func.func @first(
// CHECK: call @first_forward(
// CHECK-NEXT: call @first_backward(
// CHECK: func.func private @first_forward(
// CHECK: func.func private @first_backward(
// CHECK-NEXT: // order: g2 s wait a g1{{$}}
// CHECK: func.func @between(
// CHECK: func.func private @second(
// CHECK: func.func private @second_forward(
// CHECK: func.func private @second_backward(

// FRONT: func.func private @first_backward(
// FRONT-NEXT: // order: a g2 s wait g1{{$}}

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @dp size(4)

func.func @first(%x: !t {commsched.role = "parameter"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %a = commsched.compute "aten.sin"(%x) {commsched.name = "a",
      commsched.recompute = "must_recompute"} : (!t) -> !t
  %b = commsched.compute "aten.mm"(%a) {commsched.name = "b"} : (!t) -> !t
  %g2 = commsched.compute "two"(%dy, %b) {commsched.name = "g2"} : (!t, !t) -> !t
  %s = commsched.all_reduce %g2 on @dp reduction(sum) {commsched.name = "s"} : !t -> !future
  %r = commsched.wait %s : !future
  %g1 = commsched.compute "one"(%r, %a) {commsched.name = "g1"} : (!t, !t) -> !t
  return %b, %g1 : !t, !t
}

func.func @between(%x: !t) -> !t {
  return %x : !t
}

func.func private @second(%dy: !t {commsched.role = "tangent"},
    %x: !t {commsched.role = "input"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %s = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %r = commsched.wait %s : !future
  %g = commsched.compute "g"(%dy, %r) : (!t, !t) -> !t
  return %r, %g : !t, !t
}
