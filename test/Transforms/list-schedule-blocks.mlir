// RUN: commsched-opt %s --commsched-raise-comms | FileCheck %s

// Every block that holds collectives is scheduled by itself.

commsched.group @g size(2)

// CHECK-LABEL: func.func @several_blocks(
// CHECK-NEXT: commsched.all_reduce %arg0
// CHECK-NEXT: compute "mm1"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: cf.cond_br
// CHECK-NEXT: {{^ *}}^bb1(
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "mm2"
// CHECK-NEXT: compute "mm3"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: cf.br ^bb2
// CHECK-NEXT: 2 preds
// CHECK-NEXT: return
func.func @several_blocks(%a: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %mm1 = commsched.compute "mm1"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %a on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  cf.cond_br %c, ^body(%w : tensor<4xf32>), ^end(%mm1 : tensor<4xf32>)
^body(%x: tensor<4xf32>):
  %mm2 = commsched.compute "mm2"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %mm3 = commsched.compute "mm3"(%mm1) : (tensor<4xf32>) -> tensor<4xf32>
  %f2 = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  cf.br ^end(%mm3 : tensor<4xf32>)
^end(%y: tensor<4xf32>):
  return %y : tensor<4xf32>
}

// An argument of a block may be what another block writes: here %x is %a.
// CHECK-LABEL: func.func @arguments_of_blocks(
// CHECK: {{^ *}}^bb1(
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
func.func @arguments_of_blocks(%a: tensor<4xf32>) {
  cf.br ^body(%a : tensor<4xf32>)
^body(%x: tensor<4xf32>):
  %free = commsched.compute "free"() : () -> tensor<4xf32>
  %reader = commsched.compute "reader"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %leads = commsched.compute "leads"(%x) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %leads on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}
