// The backward pass: beside the gathers, each layer's gradient is packed and
// reduced while the next layer is differentiated, and waited for before the next
// gradient is packed, although nothing but the end of the function needs it.
// (Reduce-scatters have a stream of their own, or gathers could not pass them.)

// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-raise-comms --commsched-sink-waits \
// RUN:   | FileCheck %s --check-prefix=SUNK
// RUN: commsched-opt %t.mlir --commsched-raise-comms --commsched-sink-waits \
// RUN:   --commsched-enforce-fsdp-order > %t
// RUN: %orders < %t | FileCheck %s
// RUN: commsched-opt %t --commsched-enforce-fsdp-order | diff - %t

// What is in order already stays.
// RUN: commsched-opt %t.mlir > %t.parsed
// RUN: commsched-opt %t.mlir --commsched-enforce-fsdp-order | diff - %t.parsed

LET $layer(K behind NEXT)
  %s.K = commsched.compute "cast"(%p.K) {commsched.name = "cast.K"} : (!t) -> !part
  %slice.K, %buffer.K = commsched.all_gather_copy_in %s.K on @dp
      {commsched.name = "copy_in.K"} : !part -> !part, !whole
  %g.K = commsched.all_gather %slice.K on @dp dim(0) into %buffer.K
      {commsched.name = "gather.K"} : !part into !whole -> !future
  %w.K = commsched.wait %g.K {commsched.name = "wait.K"} : !future
  %full.K = commsched.split_with_sizes_copy %w.K on @dp
      {commsched.name = "copy_out.K"} : !whole -> !whole
  %d.K = commsched.compute "layer.K"(%d.NEXT, %full.K) : (!whole, !whole) -> !whole
  %c.K = commsched.chunk_cat %d.K on @rs {commsched.name = "chunk_cat.K"} : !whole -> tensor<8xf32>
  %r.K = commsched.reduce_scatter %c.K on @rs reduction(avg) dim(0)
      {commsched.name = "scatter.K"} : tensor<8xf32> -> !future_u
  %v.K = commsched.wait %r.K {commsched.name = "scattered.K"} : !future_u
  %grad.K = commsched.compute "grad.K"(%v.K) : (!t) -> !part

!part = tensor<4xbf16>
!whole = tensor<8xbf16>
!future = !commsched.future<!whole>
!t = tensor<4xf32>
!future_u = !commsched.future<!t>
commsched.group @dp size(2)
commsched.group @rs size(2)

// SUNK-LABEL: func.func @backward(
// SUNK: "scatter.1"
// SUNK: "scattered.3"
// SUNK: "scattered.2"

// CHECK-LABEL: func.func @backward(
// CHECK-NEXT: // order: cast.3 copy_in.3 gather.3 wait.3 copy_out.3 cast.2 copy_in.2 gather.2 layer.3 chunk_cat.3 scatter.3 wait.2 copy_out.2 cast.1 copy_in.1 gather.1 layer.2 scattered.3 grad.3 chunk_cat.2 scatter.2 wait.1 copy_out.1 layer.1 scattered.2 grad.2 chunk_cat.1 scatter.1 scattered.1 grad.1{{$}}
func.func @backward(%p.1: !t, %p.2: !t, %p.3: !t, %d.4: !whole) -> (!part, !part, !part) {
  $layer(3 behind 4)
  $layer(2 behind 3)
  $layer(1 behind 2)
  return %grad.1, %grad.2, %grad.3 : !part, !part, !part
}
