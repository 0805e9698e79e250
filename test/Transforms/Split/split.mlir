// RUN: commsched-opt %s --commsched-split=chunks=2 --split-input-file | FileCheck %s --enable-var-scope --check-prefix=NEAREST
// RUN: commsched-opt %s --commsched-split="chunks=2 extent=widest" --split-input-file | %orders | FileCheck %s --enable-var-scope --check-prefix=WIDEST

// A gather before one product, and a scatter behind another one. The chunks of
// what is between are rows of all ranks. What is needed whole is allocated
// whole, and each chunk writes its rows; an operator reads rows without a copy.

commsched.group @tp size(4)

// NEAREST-LABEL: func.func @mlp
// NEAREST-SAME: %[[X:.+]]: tensor<16x32xf32>, %[[W1:.+]]: tensor<32x64xf32>, %[[W2:.+]]: tensor<64x32xf32>
// NEAREST: %[[X0:.+]] = tensor.extract_slice %[[X]][0, 0] [8, 32] [1, 1] {commsched.chunk = {count = 2 : i64, index = 0 : i64, of = "%arg0", part = "slice"}}
// NEAREST: %[[X1:.+]] = tensor.extract_slice %[[X]][8, 0] [8, 32] [1, 1]
// NEAREST: %[[F0:.+]] = commsched.all_gather %[[X0]] on @tp dim(0) {{.*}} commsched.name = "ag.chunk0"{{.*}}} : tensor<8x32xf32>
// NEAREST: %[[F1:.+]] = commsched.all_gather %[[X1]] on @tp dim(0) {{.*}} commsched.name = "ag.chunk1"{{.*}}}
// NEAREST: %[[G0:.+]] = commsched.wait %[[F0]]
// NEAREST: %[[B:.+]] = tensor.empty() {commsched.chunk = {count = 2 : i64, of = "mm1", part = "whole"}, commsched.module = "mlp"} : tensor<64x64xf32>
// NEAREST: %[[E0:.+]] = tensor.expand_shape %[[B]] {{.*}} output_shape [4, 2, 8, 64]
// NEAREST: %[[D0:.+]] = tensor.extract_slice %[[E0]][0, 0, 0, 0] [4, 1, 8, 64] {{.*}} to tensor<4x8x64xf32>
// NEAREST: %[[H0:.+]] = commsched.compute "aten.mm"(%[[G0]], %[[W1]], %[[D0]]) {alias = 2 : i64, bytes = 20480 : i64, commsched.chunk = {axis = 0 : i64, blocks = 4 : i64, count = 2 : i64, index = 0 : i64, of = "mm1"}, commsched.module = "mlp", commsched.name = "mm1.chunk0", {{.*}}commsched.runtime_ns = {{[0-9]+}} : i64, flops = 1.310720e+05 : f64
// NEAREST: %[[G1:.+]] = commsched.wait %[[F1]]
// NEAREST: %[[D1:.+]] = tensor.extract_slice {{.*}}[0, 1, 0, 0] [4, 1, 8, 64]
// NEAREST: %[[H1:.+]] = commsched.compute "aten.mm"(%[[G1]], %[[W1]], %[[D1]]) {alias = 2 : i64,
// NEAREST-SAME: split = "m k, k n, _ _ _ -> m n"
// NEAREST: %[[H:.+]] = commsched.compute "commsched.join"(%[[B]], %[[H0]], %[[H1]]) {alias = 0 : i64, {{.*}}commsched.module = "mlp", commsched.name = "mm1.whole"}
// NEAREST: %[[S:.+]] = commsched.compute "aten.silu"(%[[H]])
// NEAREST: tensor.expand_shape %[[S]]
// NEAREST: tensor.extract_slice {{.*}}[0, 0, 0, 0] [4, 1, 8, 64]
// NEAREST-NOT: linalg.copy
// NEAREST: tensor.collapse_shape {{.*}} commsched.name = "silu.slice0"
// NEAREST: commsched.name = "mm2.chunk0"
// NEAREST: commsched.name = "rs.chunk0"
// NEAREST: commsched.name = "mm2.chunk1"
// NEAREST: commsched.name = "rs.chunk1"
// NEAREST: %[[R0:.+]] = commsched.wait
// NEAREST: %[[R1:.+]] = commsched.wait
// NEAREST: %[[R:.+]] = tensor.concat dim(0) %[[R0]], %[[R1]]
// NEAREST: return %[[R]]

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
