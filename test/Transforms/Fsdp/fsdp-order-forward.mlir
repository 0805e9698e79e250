// Each layer waits for its parameters where it needs them; raised starts would
// have all of them gathered at once. Enforced, the next gather starts when this
// layer's parameters are there, and runs beside this layer: one layer ahead, no
// computation inside a group.

// RUN: commsched-opt %s --commsched-raise-comms | FileCheck %s \
// RUN:   --check-prefix=RAISED
// RUN: commsched-opt %s --commsched-raise-comms \
// RUN:   --commsched-enforce-fsdp-order > %t
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t --commsched-enforce-fsdp-order | diff - %t

// What is in order already stays.
// RUN: commsched-opt %s > %t.parsed
// RUN: commsched-opt %s --commsched-enforce-fsdp-order | diff - %t.parsed

commsched.group @dp size(2)

// RAISED-LABEL: func.func @forward(
// RAISED: "gather1"
// RAISED: "gather2"
// RAISED: "gather3"
// RAISED: "wait1"

// CHECK-LABEL: func.func @forward(
// CHECK-NEXT: "cast1"
// CHECK-NEXT: "copy_in1"
// CHECK-NEXT: "gather1"
// CHECK-NEXT: "wait1"
// CHECK-NEXT: "copy_out1"
// CHECK-NEXT: "cast2"
// CHECK-NEXT: "copy_in2"
// CHECK-NEXT: "gather2"
// CHECK-NEXT: "layer1"
// CHECK-NEXT: "wait2"
// CHECK-NEXT: "copy_out2"
// CHECK-NEXT: "cast3"
// CHECK-NEXT: "copy_in3"
// CHECK-NEXT: "gather3"
// CHECK-NEXT: "layer2"
// CHECK-NEXT: "wait3"
// CHECK-NEXT: "copy_out3"
// CHECK-NEXT: "layer3"
// CHECK-NEXT: return
func.func @forward(%p1: tensor<4xf32>, %p2: tensor<4xf32>, %p3: tensor<4xf32>,
                   %x0: tensor<8xbf16>) -> tensor<8xbf16> {
  %s1 = commsched.compute "cast"(%p1) {commsched.name = "cast1"}
      : (tensor<4xf32>) -> tensor<4xbf16>
  %slice1, %buffer1 = commsched.all_gather_copy_in %s1 on @dp
      {commsched.name = "copy_in1"}
      : tensor<4xbf16> -> tensor<4xbf16>, tensor<8xbf16>
  %g1 = commsched.all_gather %slice1 on @dp dim(0) into %buffer1
      {commsched.name = "gather1"} : tensor<4xbf16> into tensor<8xbf16>
      -> !commsched.future<tensor<8xbf16>>
  %w1 = commsched.wait %g1 {commsched.name = "wait1"}
      : !commsched.future<tensor<8xbf16>>
  %full1 = commsched.split_with_sizes_copy %w1 on @dp
      {commsched.name = "copy_out1"} : tensor<8xbf16> -> tensor<8xbf16>
  %x1 = commsched.compute "layer1"(%x0, %full1)
      : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %s2 = commsched.compute "cast"(%p2) {commsched.name = "cast2"}
      : (tensor<4xf32>) -> tensor<4xbf16>
  %slice2, %buffer2 = commsched.all_gather_copy_in %s2 on @dp
      {commsched.name = "copy_in2"}
      : tensor<4xbf16> -> tensor<4xbf16>, tensor<8xbf16>
  %g2 = commsched.all_gather %slice2 on @dp dim(0) into %buffer2
      {commsched.name = "gather2"} : tensor<4xbf16> into tensor<8xbf16>
      -> !commsched.future<tensor<8xbf16>>
  %w2 = commsched.wait %g2 {commsched.name = "wait2"}
      : !commsched.future<tensor<8xbf16>>
  %full2 = commsched.split_with_sizes_copy %w2 on @dp
      {commsched.name = "copy_out2"} : tensor<8xbf16> -> tensor<8xbf16>
  %x2 = commsched.compute "layer2"(%x1, %full2)
      : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %s3 = commsched.compute "cast"(%p3) {commsched.name = "cast3"}
      : (tensor<4xf32>) -> tensor<4xbf16>
  %slice3, %buffer3 = commsched.all_gather_copy_in %s3 on @dp
      {commsched.name = "copy_in3"}
      : tensor<4xbf16> -> tensor<4xbf16>, tensor<8xbf16>
  %g3 = commsched.all_gather %slice3 on @dp dim(0) into %buffer3
      {commsched.name = "gather3"} : tensor<4xbf16> into tensor<8xbf16>
      -> !commsched.future<tensor<8xbf16>>
  %w3 = commsched.wait %g3 {commsched.name = "wait3"}
      : !commsched.future<tensor<8xbf16>>
  %full3 = commsched.split_with_sizes_copy %w3 on @dp
      {commsched.name = "copy_out3"} : tensor<8xbf16> -> tensor<8xbf16>
  %x3 = commsched.compute "layer3"(%x2, %full3)
      : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %x3 : tensor<8xbf16>
}
