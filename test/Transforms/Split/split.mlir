// RUN: commsched-opt %s --commsched-split=chunks=2 --split-input-file | %orders | FileCheck %s --enable-var-scope --check-prefix=NEAREST
// RUN: commsched-opt %s --commsched-split="chunks=2 extent=widest" --split-input-file | %orders | FileCheck %s --enable-var-scope --check-prefix=WIDEST

// A gather before one product, and a scatter behind another one. The chunks of
// what is between are rows of all ranks. What is needed whole is allocated
// whole, and each chunk writes its rows; an operator reads rows without a copy.

commsched.group @tp size(4)

// NEAREST-LABEL: func.func @mlp
// NEAREST-NEXT: // order: tensor.extract_slice tensor.extract_slice ag.chunk0 ag.chunk1 ag_wait.chunk0 tensor.empty tensor.expand_shape tensor.extract_slice mm1.chunk0 ag_wait.chunk1 tensor.expand_shape tensor.extract_slice mm1.chunk1 mm1.whole silu tensor.expand_shape tensor.extract_slice silu.slice0 tensor.expand_shape tensor.extract_slice silu.slice1 mm2.chunk0 rs.chunk0 mm2.chunk1 rs.chunk1 wait wait tensor.concat{{$}}
// NEAREST: tensor.extract_slice %arg0[0, 0] [8, 32] [1, 1] {commsched.chunk = {count = 2 : i64, index = 0 : i64, of = "%arg0", part = "slice"}}
// NEAREST: %[[B:.+]] = tensor.empty() {commsched.chunk = {count = 2 : i64, of = "mm1", part = "whole"}, commsched.module = "mlp"} : tensor<64x64xf32>
// NEAREST: tensor.extract_slice {{.*}}[0, 0, 0, 0] [4, 1, 8, 64] {{.*}} to tensor<4x8x64xf32>
// NEAREST: %[[H0:.+]] = commsched.compute "aten.mm"({{.*}}) {alias = 2 : i64, bytes = 20480 : i64, commsched.chunk = {axis = 0 : i64, blocks = 4 : i64, count = 2 : i64, index = 0 : i64, of = "mm1"}, commsched.module = "mlp", commsched.name = "mm1.chunk0", {{.*}}commsched.runtime_ns = {{[0-9]+}} : i64, flops = 1.310720e+05 : f64
// NEAREST: %[[H1:.+]] = commsched.compute "aten.mm"({{.*}}split = "m k, k n, _ _ _ -> m n"
// NEAREST: commsched.compute "commsched.join"(%[[B]], %[[H0]], %[[H1]]) {alias = 0 : i64, {{.*}}commsched.module = "mlp", commsched.name = "mm1.whole"}

// WIDEST-LABEL: func.func @mlp
// WIDEST-NEXT: // order: tensor.extract_slice tensor.extract_slice ag.chunk0 ag.chunk1 ag_wait.chunk0 mm1.chunk0 silu.chunk0 mm2.chunk0 rs.chunk0 ag_wait.chunk1 mm1.chunk1 silu.chunk1 mm2.chunk1 rs.chunk1 wait wait tensor.concat{{$}}
func.func @mlp(%x: tensor<16x32xf32>, %w1: tensor<32x64xf32>, %w2: tensor<64x32xf32>)
    -> tensor<16x32xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f {commsched.name = "ag_wait"} : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w1) {flops = 262144.0, split = "m k, k n -> m n", commsched.name = "mm1", commsched.module = "mlp", commsched.runtime_ns = 1001 : i64}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %s = commsched.compute "aten.silu"(%h) {split = "a b -> a b", commsched.name = "silu"}
      : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = commsched.compute "aten.mm"(%s, %w2) {flops = 262144.0, split = "m k, k n -> m n", commsched.name = "mm2"}
      : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %rf = commsched.reduce_scatter %y on @tp reduction(sum) dim(0) {commsched.name = "rs"}
      : tensor<64x32xf32> -> !commsched.future<tensor<16x32xf32>>
  %r = commsched.wait %rf : !commsched.future<tensor<16x32xf32>>
  return %r : tensor<16x32xf32>
}
