// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-split="chunks=2 extent=widest" | FileCheck %s --enable-var-scope
// RUN: commsched-opt %t.mlir --commsched-split="chunks=2 extent=widest" --commsched-to-llvm -o /dev/null

// What is returned is a view of the product's result: the product is written
// whole, and the view is repeated on it.

commsched.group @tp size(4)

// CHECK-LABEL: func.func @view
// CHECK: %[[B:.+]] = tensor.empty() {{.*}} : tensor<64x64xf32>
// CHECK: commsched.name = "mm.chunk0"
// CHECK: commsched.name = "mm.chunk1"
// CHECK: %[[H:.+]] = commsched.compute "commsched.join"(%[[B]], {{.*}} commsched.name = "mm.whole"
// CHECK: %[[V:.+]] = commsched.compute "aten.view"(%[[H]]) {alias = 0 : i64, {{.*}}part = "whole"{{.*}} : (tensor<64x64xf32>) -> tensor<64x4x16xf32>
// CHECK-NOT: tensor.concat
// CHECK: return %[[V]]
func.func @view(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x4x16xf32> {
  $run(%g = all_gather %x on @tp dim(0) {commsched.name = "ag"} : tensor<16x32xf32> -> tensor<64x32xf32>)
  %h = commsched.compute "aten.mm"(%g, %w) {flops = 262144.0, split = "m k, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %v = commsched.compute "aten.view"(%h) {alias = 0 : i64, split = "m (h d) -> m h d", commsched.name = "view"}
      : (tensor<64x64xf32>) -> tensor<64x4x16xf32>
  return %v : tensor<64x4x16xf32>
}

// A collective sends chunks that are contiguous: the columns of a whole are
// not, so that what is returned is put together by a copy.

// CHECK-LABEL: func.func @sent
// CHECK-NOT: tensor.empty
// CHECK: tensor.concat
func.func @sent(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %h = commsched.compute "aten.mm"(%x, %w) {flops = 262144.0, split = "_ k, k n -> _ n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  $run(%r = all_to_all %h on @tp split_dim(0) concat_dim(0) {commsched.name = "a2a"}
      : tensor<64x64xf32> -> tensor<64x64xf32>)
  return %h, %r : tensor<64x64xf32>, tensor<64x64xf32>
}

// What alone reads the columns that a collective delivers, and what alone
// computes those that one sends, is divided too: nothing is copied.

// CHECK-LABEL: func.func @absorbed
// CHECK-NOT: linalg.copy
// CHECK-NOT: tensor.concat
// CHECK: commsched.compute "aten.neg"{{.*}}commsched.name = "before.chunk1"
// CHECK: commsched.compute "commsched.join"{{.*}}commsched.name = "after.whole"
func.func @absorbed(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %n = commsched.compute "aten.neg"(%x) {split = "a b -> a b", commsched.name = "before"}
      : (tensor<64x64xf32>) -> tensor<64x64xf32>
  $run(%r = all_to_all %n on @tp split_dim(0) concat_dim(0) {commsched.name = "a2a"}
      : tensor<64x64xf32> -> tensor<64x64xf32>)
  %y = commsched.compute "aten.mm"(%w, %r) {flops = 262144.0, split = "_ k, k n -> _ n", commsched.name = "mm"}
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  $run(%s = all_to_all %y on @tp split_dim(0) concat_dim(0) {commsched.name = "back"}
      : tensor<64x64xf32> -> tensor<64x64xf32>)
  %t = commsched.compute "aten.neg"(%s) {split = "a b -> a b", commsched.name = "after"}
      : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %t, %y : tensor<64x64xf32>, tensor<64x64xf32>
}
