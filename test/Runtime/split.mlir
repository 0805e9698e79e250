// Where operators are opaque, the runtime makes the copies of a program in chunks:
// nothing runs on the processor that a GPU could not do. Results are compared by
// Equivalence/split-regions.test.
//
// RUN: commsched-opt %s --commsched-split=chunks=2 -o %t.mlir
// RUN: commsched-run %t.mlir --ranks=4 -o /dev/null
// RUN: commsched-opt %t.mlir --convert-commsched-to-runtime | FileCheck %s
// CHECK: @commsched_program(
// CHECK-NOT: host_code
// CHECK-SAME: gather.chunk1
// CHECK-NOT: linalg.
// CHECK: call @commsched_copy(
// CHECK-NOT: linalg.

commsched.group @tp size(4)

func.func @main(%x: tensor<8x16xf32>, %w1: tensor<16x12xf32>, %w2: tensor<12x16xf32>) -> (tensor<8x16xf32>, tensor<32x12xf32>) {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "gather"}
      : tensor<8x16xf32> -> !commsched.future<tensor<32x16xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<32x16xf32>>
  %h = commsched.compute "aten.mm"(%g, %w1) {flops = 1.0e12, commsched.name = "up", split = "m k, k n -> m n"} : (tensor<32x16xf32>, tensor<16x12xf32>) -> tensor<32x12xf32>
  %o = commsched.compute "aten.mm"(%h, %w2) {flops = 1.0e12, commsched.name = "down", split = "m k, k n -> m n"} : (tensor<32x12xf32>, tensor<12x16xf32>) -> tensor<32x16xf32>
  %s = commsched.reduce_scatter %o on @tp reduction(sum) dim(0) {commsched.name = "scatter"}
      : tensor<32x16xf32> -> !commsched.future<tensor<8x16xf32>>
  %r = commsched.wait %s : !commsched.future<tensor<8x16xf32>>
  return %r, %h : tensor<8x16xf32>, tensor<32x12xf32>
}
