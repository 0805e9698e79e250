// RUN: commsched-opt %s --commsched-split="chunks=2 extent=widest" | %orders | FileCheck %s

// What leads from a product to attention, where the region ends, is divided: it
// runs while other chunks are communicated. The views at its end are not, and
// neither is what leads to nothing expensive.

commsched.group @tp size(4)

// CHECK: // order: {{.*}} mm.chunk0 rows.chunk0 {{.*}} rope.chunk0 {{.*}} rope.chunk1 rope.whole heads attention abs{{$}}
func.func @attention(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>, %cos: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f {commsched.name = "ag_wait"} : !commsched.future<tensor<64x32xf32>>
  %q = commsched.compute "aten.mm"(%g, %w) {flops = 262144.0, split = "m k, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %v = commsched.compute "aten.view"(%q) {alias = 0, split = "m n -> m _ n", commsched.name = "rows"}
      : (tensor<64x64xf32>) -> tensor<64x1x64xf32>
  %r = commsched.compute "rope"(%v, %cos) {split = "m _ n, m n -> m n", commsched.name = "rope"}
      : (tensor<64x1x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = commsched.compute "aten.permute"(%r) {alias = 0, split = "m n -> n m", commsched.name = "heads"}
      : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = commsched.compute "attention"(%h) {flops = 1048576.0, commsched.name = "attention"}
      : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = commsched.compute "aten.abs"(%r) {split = "m n -> m n", commsched.name = "abs"}
      : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %a, %b : tensor<64x64xf32>, tensor<64x64xf32>
}
