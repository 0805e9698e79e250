// RUN: commsched-opt %s --commsched-split=mode=ring | %orders | FileCheck %s --enable-var-scope
// RUN: commsched-opt %s --commsched-split=mode=ring --commsched-to-llvm -o /dev/null

// The chunks of a gather are the shards, the local one first. The product of
// the first is beside the first step.

commsched.group @tp size(4)

// CHECK-LABEL: func.func @product
// CHECK-NEXT: // order: {{.*}}w.chunk0 ag.chunk1 {{.*}} mm.chunk0 w.chunk1 ag.chunk2 {{.*}} mm.chunk1 w.chunk2 {{.*}} ag.chunk3 mm.chunk2 w.chunk3 mm.chunk3 tensor.empty {{.*}}mm.whole{{$}}
// CHECK: %[[X0:.+]] = tensor.extract_slice %arg0[0, 0] [16, 32] [1, 1] {{.*}}part = "ring"}, commsched.name = "w.chunk0"{{.*}}}
// CHECK: commsched.permute %[[X0]] on @tp pairs(dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0]]> {{.*}}index = 1 : i64, of = "ag", {{.*}}part = "ring"}, commsched.module = "layer", commsched.name = "ag.chunk1", {{.*}}commsched.runtime_ns = {{[0-9]+}}
// CHECK: tensor.empty() {{.*}}part = "whole"
// CHECK-COUNT-4: tensor.insert_slice
// CHECK-NOT: all_gather
func.func @product(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = commsched.all_gather %x on @tp dim(0) {commsched.module = "layer", commsched.name = "ag", commsched.runtime_ns = 100000 : i64}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f {commsched.name = "w"} : !commsched.future<tensor<64x32xf32>>
  %h = linalg.matmul {commsched.name = "mm"} ins(%g, %w : tensor<64x32xf32>, tensor<32x64xf32>)
      outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// The parts of what is not the first dimension are in several pieces.

// CHECK-LABEL: func.func @columns
// CHECK: %[[W0:.+]] = tensor.extract_slice {{.*}}part = "ring"
// CHECK: commsched.permute %[[W0]]
// CHECK: linalg.matmul {{.*}} : tensor<16x32xf32>, tensor<32x2xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, %{{.*}}] [16, 2] [1, 1]
func.func @columns(%x: tensor<16x32xf32>, %w: tensor<32x2xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
  %f = commsched.all_gather %w on @tp dim(1) {commsched.name = "ag"}
      : tensor<32x2xf32> -> !commsched.future<tensor<32x8xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<32x8xf32>>
  %h = linalg.matmul {commsched.name = "mm"} ins(%x, %g : tensor<16x32xf32>, tensor<32x8xf32>)
      outs(%fill : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %h : tensor<16x8xf32>
}

// Operators of frameworks write their parts, and the whole is a view of them.

// CHECK-LABEL: func.func @written
// CHECK: %[[B:.+]] = tensor.empty() {{.*}} : tensor<64x64xf32>
// CHECK: %[[D:.+]] = tensor.extract_slice %[[B]][%{{.*}}, 0] [16, 64] [1, 1]
// CHECK: commsched.compute "aten.mm"(%{{.*}}, %{{.*}}, %[[D]]) {{.*}}commsched.name = "mm.chunk0"
// CHECK: commsched.compute "commsched.join"(%[[B]],
func.func @written(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f {commsched.name = "w"} : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w) {flops = 262144.0, split = "m k, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}
