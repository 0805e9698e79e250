// DEFINE: %{pipeline} = commsched-opt %s \
// DEFINE:   --commsched-inductor-pipeline="reorder_for_peak_memory=false memory-budget=200%"

// RUN: %{pipeline} > %t
// RUN: FileCheck %s < %t
// RUN: %{pipeline} --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// RUN: commsched-opt %t --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=AFTER

// Two layers of a step whose gathers and scatters are merged: products, the
// merged gather of two parameters, the merged scatter of two gradients. Raised,
// sunk and raised again, all communication starts above the products, each
// gather with what it copies in, and what is waited for comes below them. All
// of it is hidden then.

commsched.group @dp size(4)

// The first pass.
// REMARK: 'gather0': its start moves up by 1, with 3 others, limited by nothing
// REMARK: 'scatter0': its start moves up by 3, with 1 other, limited by order dependence with commsched.all_gather 'gather0', a collective
// REMARK: 'gather1': its start moves up by 5, with 3 others, limited by order dependence with commsched.reduce_scatter 'scatter0', a collective
// REMARK: 'scatter1': its start moves up by 7, with 1 other, limited by order dependence with commsched.all_gather 'gather1', a collective
// The second.
// REMARK: 'scatter1': its wait stays, limited by nothing
// REMARK: 'gather1': its wait moves down by 1, with 1 other, limited by nothing
// REMARK: 'scatter0': its wait moves down by 4, limited by nothing
// REMARK: 'gather0': its wait moves down by 5, with 1 other, limited by nothing
// The third has nothing left to do.
// REMARK: 'gather0': its start stays, with 3 others, limited by nothing
// REMARK: 'scatter0': its start stays, with 1 other, limited by order dependence
// REMARK: 'gather1': its start stays, with 3 others, limited by order dependence
// REMARK: 'scatter1': its start stays, with 1 other, limited by order dependence

// BEFORE: "step_time_ns":800,
// BEFORE-SAME: "exposed_comm_ns":400,
// AFTER: "step_time_ns":400,
// AFTER-SAME: "exposed_comm_ns":0,
// CHECK-LABEL: func.func @step(
// CHECK-NEXT: "cast0"
// CHECK-NEXT: "cast1"
// CHECK-NEXT: "copy_in0"
// CHECK-NEXT: "gather0"
// CHECK-NEXT: "chunk_cat0"
// CHECK-NEXT: "scatter0"
// CHECK-NEXT: "cast2"
// CHECK-NEXT: "cast3"
// CHECK-NEXT: "copy_in1"
// CHECK-NEXT: "gather1"
// CHECK-NEXT: "chunk_cat1"
// CHECK-NEXT: "scatter1"
// CHECK-NEXT: "mm0"
// CHECK-NEXT: "mm1"
// CHECK-NEXT: commsched.wait
func.func @step(%x: tensor<8x8xbf16>, %p0: tensor<8xf32>, %p1: tensor<4xf32>,
                %p2: tensor<8xf32>, %p3: tensor<4xf32>,
                %g0: tensor<32xbf16>, %g1: tensor<16xbf16>,
                %g2: tensor<32xbf16>, %g3: tensor<16xbf16>)
    -> (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<32xbf16>, tensor<16xbf16>,
        tensor<12xbf16>, tensor<32xbf16>, tensor<16xbf16>, tensor<12xbf16>) {
  %mm0 = commsched.compute "mm0"(%x, %x)
      {flops = 1.0e6 : f64, commsched.runtime_ns = 100 : i64}
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c0 = commsched.compute "cast0"(%p0) {commsched.runtime_ns = 0 : i64}
      : (tensor<8xf32>) -> tensor<8xbf16>
  %c1 = commsched.compute "cast1"(%p1) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xbf16>
  %s0, %b0 = commsched.all_gather_copy_in %c0, %c1 on @dp
      {commsched.name = "copy_in0", commsched.runtime_ns = 0 : i64}
      : tensor<8xbf16>, tensor<4xbf16> -> tensor<12xbf16>, tensor<48xbf16>
  %f0 = commsched.all_gather %s0 on @dp dim(0) into %b0
      {commsched.name = "gather0", commsched.runtime_ns = 100 : i64}
      : tensor<12xbf16> into tensor<48xbf16>
      -> !commsched.future<tensor<48xbf16>>
  %w0 = commsched.wait %f0 {commsched.name = "gathered0"}
      : !commsched.future<tensor<48xbf16>>
  %u0:2 = commsched.split_with_sizes_copy %w0 on @dp
      {commsched.name = "copy_out0", commsched.runtime_ns = 0 : i64}
      : tensor<48xbf16> -> tensor<32xbf16>, tensor<16xbf16>
  %r0 = commsched.chunk_cat %g0, %g1 on @dp
      {commsched.name = "chunk_cat0", commsched.runtime_ns = 0 : i64}
      : tensor<32xbf16>, tensor<16xbf16> -> tensor<48xbf16>
  %f1 = commsched.reduce_scatter %r0 on @dp reduction(sum) dim(0)
      {commsched.name = "scatter0", commsched.runtime_ns = 100 : i64}
      : tensor<48xbf16> -> !commsched.future<tensor<12xbf16>>
  %w1 = commsched.wait %f1 {commsched.name = "scattered0"}
      : !commsched.future<tensor<12xbf16>>
  %mm1 = commsched.compute "mm1"(%mm0, %x)
      {flops = 1.0e6 : f64, commsched.runtime_ns = 300 : i64}
      : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %c2 = commsched.compute "cast2"(%p2) {commsched.runtime_ns = 0 : i64}
      : (tensor<8xf32>) -> tensor<8xbf16>
  %c3 = commsched.compute "cast3"(%p3) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xbf16>
  %s1, %b1 = commsched.all_gather_copy_in %c2, %c3 on @dp
      {commsched.name = "copy_in1", commsched.runtime_ns = 0 : i64}
      : tensor<8xbf16>, tensor<4xbf16> -> tensor<12xbf16>, tensor<48xbf16>
  %f2 = commsched.all_gather %s1 on @dp dim(0) into %b1
      {commsched.name = "gather1", commsched.runtime_ns = 100 : i64}
      : tensor<12xbf16> into tensor<48xbf16>
      -> !commsched.future<tensor<48xbf16>>
  %w2 = commsched.wait %f2 {commsched.name = "gathered1"}
      : !commsched.future<tensor<48xbf16>>
  %u1:2 = commsched.split_with_sizes_copy %w2 on @dp
      {commsched.name = "copy_out1", commsched.runtime_ns = 0 : i64}
      : tensor<48xbf16> -> tensor<32xbf16>, tensor<16xbf16>
  %r1 = commsched.chunk_cat %g2, %g3 on @dp
      {commsched.name = "chunk_cat1", commsched.runtime_ns = 0 : i64}
      : tensor<32xbf16>, tensor<16xbf16> -> tensor<48xbf16>
  %f3 = commsched.reduce_scatter %r1 on @dp reduction(sum) dim(0)
      {commsched.name = "scatter1", commsched.runtime_ns = 100 : i64}
      : tensor<48xbf16> -> !commsched.future<tensor<12xbf16>>
  %w3 = commsched.wait %f3 {commsched.name = "scattered1"}
      : !commsched.future<tensor<12xbf16>>
  return %mm0, %mm1, %u0#0, %u0#1, %w1, %u1#0, %u1#1, %w3
      : tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<32xbf16>, tensor<16xbf16>,
        tensor<12xbf16>, tensor<32xbf16>, tensor<16xbf16>, tensor<12xbf16>
}
