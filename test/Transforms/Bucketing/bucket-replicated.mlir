// RUN: %rows %s | commsched-opt --commsched-bucket-reduce-scatter="mode=coalesced plan=b;a" \
// RUN:   --commsched-bucket-all-reduce="mode=coalesced plan=b;a" | %orders | FileCheck %s

// Gradients are reduced over the shards, then over the replicas of the model.
// Nobody needs them before the end, so neither does the second reduction: it
// does not keep the first from running beside the next gradient.

!full = tensor<8x4xf32>
!part = tensor<2x4xf32>

commsched.group @shards size(4)
commsched.group @replicas size(2) stride(4)

// CHECK-LABEL: @step
// CHECK-NEXT: // order: gradient_b b1+b2 gradient_a a1+a2 wait rb1+rb2 wait ra1+ra2 wait wait{{$}}
func.func @step(%x: !full) -> (!part, !part, !part, !part) {
  %b:3 = commsched.compute "gradient_b"(%x) {flops = 1.0e9 : f64} : (!full) -> (!full, !full, !full)
  $run(%w1 = reduce_scatter %b#1 on @shards reduction(avg) dim(0) {commsched.module = "b", commsched.name = "b1"} : !full -> !part)
  $run(%w3 = all_reduce %w1 on @replicas reduction(avg) {commsched.module = "b", commsched.name = "rb1"} : !part -> !part)
  $run(%w5 = reduce_scatter %b#2 on @shards reduction(avg) dim(0) {commsched.module = "b", commsched.name = "b2"} : !full -> !part)
  $run(%w7 = all_reduce %w5 on @replicas reduction(avg) {commsched.module = "b", commsched.name = "rb2"} : !part -> !part)
  %a:3 = commsched.compute "gradient_a"(%b#0) {flops = 1.0e9 : f64} : (!full) -> (!full, !full, !full)
  $run(%w9 = reduce_scatter %a#1 on @shards reduction(avg) dim(0) {commsched.module = "a", commsched.name = "a1"} : !full -> !part)
  $run(%w11 = all_reduce %w9 on @replicas reduction(avg) {commsched.module = "a", commsched.name = "ra1"} : !part -> !part)
  $run(%w13 = reduce_scatter %a#2 on @shards reduction(avg) dim(0) {commsched.module = "a", commsched.name = "a2"} : !full -> !part)
  $run(%w15 = all_reduce %w13 on @replicas reduction(avg) {commsched.module = "a", commsched.name = "ra2"} : !part -> !part)
  return %w3, %w7, %w11, %w15 : !part, !part, !part, !part
}
