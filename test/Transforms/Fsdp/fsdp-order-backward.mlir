// The backward pass: beside the gathers, each layer's gradient is packed and
// reduced while the next layer is differentiated, and waited for before the next
// gradient is packed, although nothing but the end of the function needs it.
// (Reduce-scatters have a stream of their own, or gathers could not pass them.)

// RUN: commsched-opt %s --commsched-raise-comms --commsched-sink-waits \
// RUN:   | FileCheck %s --check-prefix=SUNK
// RUN: commsched-opt %s --commsched-raise-comms --commsched-sink-waits \
// RUN:   --commsched-enforce-fsdp-order > %t
// RUN: %orders < %t | FileCheck %s
// RUN: commsched-opt %t --commsched-enforce-fsdp-order | diff - %t

// What is in order already stays.
// RUN: commsched-opt %s > %t.parsed
// RUN: commsched-opt %s --commsched-enforce-fsdp-order | diff - %t.parsed

!part = tensor<4xbf16>
!whole = tensor<8xbf16>
!future = !commsched.future<!whole>
!t = tensor<4xf32>
!future_u = !commsched.future<!t>
commsched.group @dp size(2)
commsched.group @rs size(2)

// SUNK-LABEL: func.func @backward(
// SUNK: "scatter1"
// SUNK: "scattered3"
// SUNK: "scattered2"

// CHECK-LABEL: func.func @backward(
// CHECK-NEXT: // order: cast3 copy_in3 gather3 wait3 copy_out3 cast2 copy_in2 gather2 layer3 chunk_cat3 scatter3 wait2 copy_out2 cast1 copy_in1 gather1 layer2 scattered3 grad3 chunk_cat2 scatter2 wait1 copy_out1 layer1 scattered2 grad2 chunk_cat1 scatter1 scattered1 grad1{{$}}
func.func @backward(%p1: !t, %p2: !t, %p3: !t,
                    %d4: !whole) -> (!part, !part, !part) {
  %s3 = commsched.compute "cast"(%p3) {commsched.name = "cast3"} : (!t) -> !part
  %slice3, %buffer3 = commsched.all_gather_copy_in %s3 on @dp
      {commsched.name = "copy_in3"} : !part -> !part, !whole
  %g3 = commsched.all_gather %slice3 on @dp dim(0) into %buffer3
      {commsched.name = "gather3"} : !part into !whole -> !future
  %w3 = commsched.wait %g3 {commsched.name = "wait3"} : !future
  %full3 = commsched.split_with_sizes_copy %w3 on @dp
      {commsched.name = "copy_out3"} : !whole -> !whole
  %d3 = commsched.compute "layer3"(%d4, %full3) : (!whole, !whole) -> !whole
  %c3 = commsched.chunk_cat %d3 on @rs {commsched.name = "chunk_cat3"}
      : !whole -> tensor<8xf32>
  %r3 = commsched.reduce_scatter %c3 on @rs reduction(avg) dim(0)
      {commsched.name = "scatter3"} : tensor<8xf32> -> !future_u
  %v3 = commsched.wait %r3 {commsched.name = "scattered3"} : !future_u
  %grad3 = commsched.compute "grad3"(%v3) : (!t) -> !part
  %s2 = commsched.compute "cast"(%p2) {commsched.name = "cast2"} : (!t) -> !part
  %slice2, %buffer2 = commsched.all_gather_copy_in %s2 on @dp
      {commsched.name = "copy_in2"} : !part -> !part, !whole
  %g2 = commsched.all_gather %slice2 on @dp dim(0) into %buffer2
      {commsched.name = "gather2"} : !part into !whole -> !future
  %w2 = commsched.wait %g2 {commsched.name = "wait2"} : !future
  %full2 = commsched.split_with_sizes_copy %w2 on @dp
      {commsched.name = "copy_out2"} : !whole -> !whole
  %d2 = commsched.compute "layer2"(%d3, %full2) : (!whole, !whole) -> !whole
  %c2 = commsched.chunk_cat %d2 on @rs {commsched.name = "chunk_cat2"}
      : !whole -> tensor<8xf32>
  %r2 = commsched.reduce_scatter %c2 on @rs reduction(avg) dim(0)
      {commsched.name = "scatter2"} : tensor<8xf32> -> !future_u
  %v2 = commsched.wait %r2 {commsched.name = "scattered2"} : !future_u
  %grad2 = commsched.compute "grad2"(%v2) : (!t) -> !part
  %s1 = commsched.compute "cast"(%p1) {commsched.name = "cast1"} : (!t) -> !part
  %slice1, %buffer1 = commsched.all_gather_copy_in %s1 on @dp
      {commsched.name = "copy_in1"} : !part -> !part, !whole
  %g1 = commsched.all_gather %slice1 on @dp dim(0) into %buffer1
      {commsched.name = "gather1"} : !part into !whole -> !future
  %w1 = commsched.wait %g1 {commsched.name = "wait1"} : !future
  %full1 = commsched.split_with_sizes_copy %w1 on @dp
      {commsched.name = "copy_out1"} : !whole -> !whole
  %d1 = commsched.compute "layer1"(%d2, %full1) : (!whole, !whole) -> !whole
  %c1 = commsched.chunk_cat %d1 on @rs {commsched.name = "chunk_cat1"}
      : !whole -> tensor<8xf32>
  %r1 = commsched.reduce_scatter %c1 on @rs reduction(avg) dim(0)
      {commsched.name = "scatter1"} : tensor<8xf32> -> !future_u
  %v1 = commsched.wait %r1 {commsched.name = "scattered1"} : !future_u
  %grad1 = commsched.compute "grad1"(%v1) : (!t) -> !part
  return %grad1, %grad2, %grad3 : !part, !part, !part
}
