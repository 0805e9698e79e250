// RUN: commsched-opt %s --commsched-reorder-for-peak-memory | FileCheck %s

// Collectives of a stream keep their order, however much memory another would
// save. What else keeps its order, random-budgets.test and Analysis test.

commsched.group @g size(2)
commsched.group @h size(2)

// On one stream.
// CHECK-LABEL: func.func @stream(
// CHECK: commsched.all_gather %arg0
// CHECK: commsched.all_gather %arg1
func.func @stream(%large: tensor<64xi8>, %small: tensor<1xi8>)
    -> (tensor<1xi8>, tensor<1xi8>) {
  %f0 = commsched.all_gather %large on @g dim(0)
      : tensor<64xi8> -> !commsched.future<tensor<128xi8>>
  %w0 = commsched.wait %f0 : !commsched.future<tensor<128xi8>>
  %f1 = commsched.all_gather %small on @g dim(0)
      : tensor<1xi8> -> !commsched.future<tensor<2xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<2xi8>>
  %a = commsched.compute "a"(%w0) : (tensor<128xi8>) -> tensor<1xi8>
  %b = commsched.compute "b"(%w1) : (tensor<2xi8>) -> tensor<1xi8>
  return %a, %b : tensor<1xi8>, tensor<1xi8>
}

// On two streams nothing but memory decides.
// CHECK-LABEL: func.func @streams(
// CHECK: commsched.all_gather %arg1
// CHECK: commsched.all_gather %arg0
func.func @streams(%large: tensor<64xi8>, %small: tensor<1xi8>)
    -> (tensor<1xi8>, tensor<1xi8>) {
  %f0 = commsched.all_gather %large on @g dim(0)
      : tensor<64xi8> -> !commsched.future<tensor<128xi8>>
  %w0 = commsched.wait %f0 : !commsched.future<tensor<128xi8>>
  %f1 = commsched.all_gather %small on @h dim(0)
      : tensor<1xi8> -> !commsched.future<tensor<2xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<2xi8>>
  %a = commsched.compute "a"(%w0) : (tensor<128xi8>) -> tensor<1xi8>
  %b = commsched.compute "b"(%w1) : (tensor<2xi8>) -> tensor<1xi8>
  return %a, %b : tensor<1xi8>, tensor<1xi8>
}

// Blocks inside the body are ordered by themselves if they hold collectives,
// and blocks of the body in any case.
// CHECK-LABEL: func.func @blocks(
// CHECK: scf.if
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "a"
// CHECK-NEXT: "c"
// CHECK-NEXT: "b"
// CHECK-NEXT: "d"
// CHECK: } else {
// CHECK-NEXT: "a"
// CHECK-NEXT: "b"
// CHECK-NEXT: "c"
// CHECK-NEXT: "d"
// CHECK: {{^ *}}^bb1:
// CHECK-NEXT: "a"
// CHECK-NEXT: "c"
// CHECK-NEXT: "b"
// CHECK-NEXT: "d"
func.func @blocks(%x: tensor<1xi8>, %cond: i1) -> (tensor<1xi8>, tensor<1xi8>) {
  %0:2 = scf.if %cond -> (tensor<1xi8>, tensor<1xi8>) {
    %f = commsched.all_reduce %x on @g reduction(max)
        : tensor<1xi8> -> !commsched.future<tensor<1xi8>>
    %w = commsched.wait %f : !commsched.future<tensor<1xi8>>
    %a = commsched.compute "a"(%w) : (tensor<1xi8>) -> tensor<16xi8>
    %b = commsched.compute "b"() : () -> tensor<16xi8>
    %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
    %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
    scf.yield %c, %d : tensor<1xi8>, tensor<1xi8>
  } else {
    %a = commsched.compute "a"() : () -> tensor<16xi8>
    %b = commsched.compute "b"() : () -> tensor<16xi8>
    %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
    %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
    scf.yield %c, %d : tensor<1xi8>, tensor<1xi8>
  }
  cf.br ^next
^next:
  %a = commsched.compute "a"() : () -> tensor<16xi8>
  %b = commsched.compute "b"() : () -> tensor<16xi8>
  %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
  %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
  return %c, %d : tensor<1xi8>, tensor<1xi8>
}
