// RUN: commsched-opt %s --test-commsched-infer-size-hints \
// RUN:   --commsched-bucket-all-reduce --commsched-split \
// RUN:   --commsched-reinplace-all-gather --commsched-simple-overlap | FileCheck %s
// RUN: commsched-opt %s --commsched-sink-waits | FileCheck %s --check-prefix=SINK

// Passes that merge, split or quantize leave transfers as they are.

!t = tensor<8xi8, #commsched.host>
commsched.group @dp size(2)

// CHECK-LABEL: func.func @apart(
// CHECK-COUNT-2: commsched.offload %{{[0-9a-z]+}} : tensor<8xi8>
// CHECK-LABEL: func.func @hints(
func.func @apart(%x: tensor<8xi8>, %y: tensor<8xi8>) -> (!t, !t) {
  %0 = commsched.offload %x : tensor<8xi8> -> !commsched.future<!t>
  %1 = commsched.offload %y : tensor<8xi8> -> !commsched.future<!t>
  %2 = commsched.wait %0 : !commsched.future<!t>
  %3 = commsched.wait %1 : !commsched.future<!t>
  return %2, %3 : !t, !t
}

// CHECK: commsched.offload {{.*}} {commsched.size_hints = array<i64: 5>}
// CHECK: commsched.reload {{.*}} {commsched.size_hints = array<i64: 5>}
func.func @hints(%x: tensor<?xi8> {commsched.size_hints = array<i64: 5>}) -> tensor<?xi8> {
  %0 = commsched.offload %x : tensor<?xi8> -> !commsched.future<tensor<?xi8, #commsched.host>>
  %1 = commsched.wait %0 : !commsched.future<tensor<?xi8, #commsched.host>>
  %2 = commsched.reload %1 : tensor<?xi8, #commsched.host> -> !commsched.future<tensor<?xi8>>
  %3 = commsched.wait %2 : !commsched.future<tensor<?xi8>>
  return %3 : tensor<?xi8>
}

// What is copied may not be written before the wait.
// SINK-LABEL: func.func @written(
// SINK: commsched.offload
// SINK: compute "reads"
// SINK-NEXT: commsched.wait
// SINK-NEXT: compute "writes"
func.func @written(%x: tensor<8xi8>) -> !t {
  %0 = commsched.offload %x : tensor<8xi8> -> !commsched.future<!t>
  %1 = commsched.wait %0 : !commsched.future<!t>
  commsched.compute "reads"(%x) : (tensor<8xi8>) -> ()
  commsched.compute "writes"(%x) {mutates = array<i64: 0>} : (tensor<8xi8>) -> ()
  return %1 : !t
}
