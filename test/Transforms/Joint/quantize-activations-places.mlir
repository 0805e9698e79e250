// RUN: %rows %s | commsched-opt --commsched-quantize-activations="size-in-mb=0 \
// RUN:   use-scaling=false" | %orders | FileCheck %s

// Where tensors are converted: behind the last use of their storage in the
// forward, before the first use in the backward.

!t = tensor<16xbf16>
!future = !commsched.future<!t>
commsched.group @dp size(2)

// A view that is used later keeps the storage; so does a collective in flight,
// to its wait. What is not used again is converted where it is made.
// CHECK-LABEL: func.func @f_forward(
// CHECK-NEXT: // order: a view b all_reduce last arith.truncf wait arith.truncf c arith.truncf{{$}}
func.func @f_forward(%x: !t $in) -> (!t, !t, !t, !t) {
  %a = commsched.compute "a"(%x) : (!t) -> !t
  %view = commsched.compute "view"(%a) {alias = 0} : (!t) -> tensor<4x4xbf16>
  %b = commsched.compute "b"(%x) : (!t) -> !t
  %future = commsched.all_reduce %b on @dp reduction(sum) : !t -> !future
  %last = commsched.compute "last"(%view) : (tensor<4x4xbf16>) -> !t
  %sum = commsched.wait %future : !future
  %c = commsched.compute "c"(%sum, %last) : (!t, !t) -> !t
  return %sum, %a, %b, %c : !t, !t, !t, !t
}

// What nobody uses only has another type; what is returned, at the end.
// CHECK-LABEL: func.func @f_backward(
// CHECK-SAME: %[[A:[^:]*]]: tensor<16xf8E5M2>
// CHECK-SAME: %[[B:[^:]*]]: tensor<16xf8E5M2>
// CHECK-SAME: %[[C:[^:]*]]: tensor<16xf8E5M2>
// CHECK-NEXT: // order: first arith.extf second arith.extf{{$}}
func.func @f_backward(%a: !t $saved, %b: !t $saved, %c: !t $saved, %t: !t $tangent) -> (!t, !t) {
  %first = commsched.compute "first"(%t) : (!t) -> !t
  %second = commsched.compute "second"(%a, %a) : (!t, !t) -> !t
  return %second, %c : !t, !t
}

// An input that is saved is an activation afterwards.
// CHECK-LABEL: func.func @input_forward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<16xbf16> {commsched.role = "input"}
// CHECK-NEXT: // order: y arith.truncf{{$}}
func.func @input_forward(%x: !t $in) -> (!t, !t) {
  %y = commsched.compute "y"(%x) : (!t) -> !t
  return %y, %x : !t, !t
}

// CHECK-LABEL: func.func @input_backward(
// CHECK-SAME: tensor<16xf8E5M2> {commsched.role = "saved_activation"}
func.func @input_backward(%x: !t $in, %t: !t $tangent) -> !t {
  %z = commsched.compute "z"(%x, %t) : (!t, !t) -> !t
  return %z : !t
}

func.func @f(%x0: !t $in, %x1: !t $tangent) -> (!t, !t, !t) {
  %f:4 = call @f_forward(%x0) : (!t) -> (!t, !t, !t, !t)
  %b:2 = call @f_backward(%f#1, %f#2, %f#3, %x1) : (!t, !t, !t, !t) -> (!t, !t)
  return %f#0, %b#0, %b#1 : !t, !t, !t
}

func.func @input(%x0: !t $in, %x1: !t $tangent) -> (!t, !t) {
  %f:2 = call @input_forward(%x0) : (!t) -> (!t, !t)
  %b = call @input_backward(%f#1, %x1) : (!t, !t) -> !t
  return %f#0, %b : !t, !t
}
