// RUN: %rows %s | commsched-opt --commsched-raise-comms | %orders | FileCheck %s

// Every block that holds collectives is scheduled by itself.

!t = tensor<4xf32>
commsched.group @g size(2)

// CHECK-LABEL: func.func @several_blocks(
// CHECK-NEXT: // order: all_reduce mm1 wait cf.cond_br ^bb1: all_reduce mm2 mm3 wait cf.br ^bb2:{{$}}
// CHECK-NEXT: commsched.all_reduce %arg0
func.func @several_blocks(%a: !t, %c: i1) -> !t {
  %mm1 = commsched.compute "mm1"(%a) : (!t) -> !t
  $run(%w = all_reduce %a on @g reduction(sum) : !t -> !t)
  cf.cond_br %c, ^body(%w : tensor<4xf32>), ^end(%mm1 : tensor<4xf32>)
^body(%x: tensor<4xf32>):
  %mm2 = commsched.compute "mm2"(%x) : (!t) -> !t
  %mm3 = commsched.compute "mm3"(%mm1) : (!t) -> !t
  $run(%w2 = all_reduce %x on @g reduction(sum) : !t -> !t)
  cf.br ^end(%mm3 : tensor<4xf32>)
^end(%y: tensor<4xf32>):
  return %y : !t
}

// An argument of a block may be what another block writes: here %x is %a.
// CHECK-LABEL: func.func @arguments_of_blocks(
// CHECK-NEXT: // order: cf.br ^bb1: reader leads all_reduce free wait{{$}}
func.func @arguments_of_blocks(%a: !t) {
  cf.br ^body(%a : tensor<4xf32>)
^body(%x: tensor<4xf32>):
  %free = commsched.compute "free"() : () -> !t
  %reader = commsched.compute "reader"(%a) : (!t) -> !t
  %leads = commsched.compute "leads"(%x) {mutates = array<i64: 0>} : (!t) -> !t
  $run(%w = all_reduce %leads on @g reduction(sum) : !t -> !t)
  return
}
