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

!part = tensor<4xbf16>
!whole = tensor<8xbf16>
!future = !commsched.future<!whole>
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
                   %x0: !whole) -> !whole {
  %s1 = commsched.compute "cast"(%p1) {commsched.name = "cast1"}
      : (tensor<4xf32>) -> !part
  %slice1, %buffer1 = commsched.all_gather_copy_in %s1 on @dp
      {commsched.name = "copy_in1"} : !part -> !part, !whole
  %g1 = commsched.all_gather %slice1 on @dp dim(0) into %buffer1
      {commsched.name = "gather1"} : !part into !whole -> !future
  %w1 = commsched.wait %g1 {commsched.name = "wait1"} : !future
  %full1 = commsched.split_with_sizes_copy %w1 on @dp
      {commsched.name = "copy_out1"} : !whole -> !whole
  %x1 = commsched.compute "layer1"(%x0, %full1) : (!whole, !whole) -> !whole
  %s2 = commsched.compute "cast"(%p2) {commsched.name = "cast2"}
      : (tensor<4xf32>) -> !part
  %slice2, %buffer2 = commsched.all_gather_copy_in %s2 on @dp
      {commsched.name = "copy_in2"} : !part -> !part, !whole
  %g2 = commsched.all_gather %slice2 on @dp dim(0) into %buffer2
      {commsched.name = "gather2"} : !part into !whole -> !future
  %w2 = commsched.wait %g2 {commsched.name = "wait2"} : !future
  %full2 = commsched.split_with_sizes_copy %w2 on @dp
      {commsched.name = "copy_out2"} : !whole -> !whole
  %x2 = commsched.compute "layer2"(%x1, %full2) : (!whole, !whole) -> !whole
  %s3 = commsched.compute "cast"(%p3) {commsched.name = "cast3"}
      : (tensor<4xf32>) -> !part
  %slice3, %buffer3 = commsched.all_gather_copy_in %s3 on @dp
      {commsched.name = "copy_in3"} : !part -> !part, !whole
  %g3 = commsched.all_gather %slice3 on @dp dim(0) into %buffer3
      {commsched.name = "gather3"} : !part into !whole -> !future
  %w3 = commsched.wait %g3 {commsched.name = "wait3"} : !future
  %full3 = commsched.split_with_sizes_copy %w3 on @dp
      {commsched.name = "copy_out3"} : !whole -> !whole
  %x3 = commsched.compute "layer3"(%x2, %full3) : (!whole, !whole) -> !whole
  return %x3 : !whole
}
