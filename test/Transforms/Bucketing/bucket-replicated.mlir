// RUN: commsched-opt %s --commsched-bucket-reduce-scatter="mode=coalesced plan=b;a" \
// RUN:   --commsched-bucket-all-reduce="mode=coalesced plan=b;a" | FileCheck %s

// Gradients are reduced over the shards, then over the replicas of the model.
// Nobody needs them before the end, so neither does the second reduction: it
// does not keep the first from running beside the next gradient.

!full = tensor<8x4xf32>
!part = tensor<2x4xf32>

commsched.group @shards size(4)
commsched.group @replicas size(2) stride(4)

// CHECK-LABEL: @step
//       CHECK: "gradient_b"
//  CHECK-NEXT: %[[B:.*]] = commsched.reduce_scatter {{.*}}"b1+b2"
//  CHECK-NEXT: "gradient_a"
//  CHECK-NEXT: %[[A:.*]] = commsched.reduce_scatter {{.*}}"a1+a2"
//  CHECK-NEXT: commsched.wait %[[B]]
//  CHECK-NEXT: %[[RB:.*]] = commsched.all_reduce {{.*}}"rb1+rb2"
//  CHECK-NEXT: commsched.wait %[[A]]
//  CHECK-NEXT: %[[RA:.*]] = commsched.all_reduce {{.*}}"ra1+ra2"
//  CHECK-NEXT: commsched.wait %[[RB]]
//  CHECK-NEXT: commsched.wait %[[RA]]
func.func @step(%x: !full) -> (!part, !part, !part, !part) {
  %b:3 = commsched.compute "gradient_b"(%x) {flops = 1.0e9 : f64} : (!full) -> (!full, !full, !full)
  %0 = commsched.reduce_scatter %b#1 on @shards reduction(avg) dim(0) {commsched.module = "b", commsched.name = "b1"} : !full -> !commsched.future<!part>
  %1 = commsched.wait %0 : !commsched.future<!part>
  %2 = commsched.all_reduce %1 on @replicas reduction(avg) {commsched.module = "b", commsched.name = "rb1"} : !part -> !commsched.future<!part>
  %3 = commsched.wait %2 : !commsched.future<!part>
  %4 = commsched.reduce_scatter %b#2 on @shards reduction(avg) dim(0) {commsched.module = "b", commsched.name = "b2"} : !full -> !commsched.future<!part>
  %5 = commsched.wait %4 : !commsched.future<!part>
  %6 = commsched.all_reduce %5 on @replicas reduction(avg) {commsched.module = "b", commsched.name = "rb2"} : !part -> !commsched.future<!part>
  %7 = commsched.wait %6 : !commsched.future<!part>
  %a:3 = commsched.compute "gradient_a"(%b#0) {flops = 1.0e9 : f64} : (!full) -> (!full, !full, !full)
  %8 = commsched.reduce_scatter %a#1 on @shards reduction(avg) dim(0) {commsched.module = "a", commsched.name = "a1"} : !full -> !commsched.future<!part>
  %9 = commsched.wait %8 : !commsched.future<!part>
  %10 = commsched.all_reduce %9 on @replicas reduction(avg) {commsched.module = "a", commsched.name = "ra1"} : !part -> !commsched.future<!part>
  %11 = commsched.wait %10 : !commsched.future<!part>
  %12 = commsched.reduce_scatter %a#2 on @shards reduction(avg) dim(0) {commsched.module = "a", commsched.name = "a2"} : !full -> !commsched.future<!part>
  %13 = commsched.wait %12 : !commsched.future<!part>
  %14 = commsched.all_reduce %13 on @replicas reduction(avg) {commsched.module = "a", commsched.name = "ra2"} : !part -> !commsched.future<!part>
  %15 = commsched.wait %14 : !commsched.future<!part>
  return %3, %7, %11, %15 : !part, !part, !part, !part
}
