// Chunks that cannot be put together are left as they are.
// RUN: commsched-opt %s --split-input-file -o %t.input
// RUN: commsched-opt %s --commsched-merge-chunks --remarks-filter=commsched --split-input-file 2>%t.remarks | diff %t.input -
// RUN: FileCheck %s < %t.remarks

commsched.group @tp size(4)

// CHECK: ChunksNotMerged{{.*}}commsched.all_gather 'ag.chunk0': not put together with the other chunks: chunk 1 is missing
func.func @missing(%x: tensor<8x32xf32>) -> tensor<32x32xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.chunk = {axis = 0 : i64, blocks = 1 : i64, count = 2 : i64, index = 0 : i64, of = "ag", original = {types = [!commsched.future<tensor<64x32xf32>>]}}, commsched.name = "ag.chunk0"}
      : tensor<8x32xf32> -> !commsched.future<tensor<32x32xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<32x32xf32>>
  return %g : tensor<32x32xf32>
}

// -----

// One chunk is read alone.

commsched.group @tp size(4)

// CHECK: ChunksNotMerged{{.*}}commsched.wait 'w.chunk1': not put together with the other chunks: other reads chunk 0 alone
func.func @alone(%x: tensor<16x32xf32>) -> tensor<32x32xf32> {
  %x0 = tensor.extract_slice %x[0, 0] [8, 32] [1, 1] : tensor<16x32xf32> to tensor<8x32xf32>
  %x1 = tensor.extract_slice %x[8, 0] [8, 32] [1, 1] : tensor<16x32xf32> to tensor<8x32xf32>
  %f0 = commsched.all_gather %x0 on @tp dim(0) {commsched.chunk = {axis = 0 : i64, blocks = 1 : i64, count = 2 : i64, index = 0 : i64, of = "ag", original = {types = [!commsched.future<tensor<64x32xf32>>]}}, commsched.name = "ag.chunk0"}
      : tensor<8x32xf32> -> !commsched.future<tensor<32x32xf32>>
  %f1 = commsched.all_gather %x1 on @tp dim(0) {commsched.chunk = {axis = 0 : i64, blocks = 1 : i64, count = 2 : i64, index = 1 : i64, of = "ag"}, commsched.name = "ag.chunk1"}
      : tensor<8x32xf32> -> !commsched.future<tensor<32x32xf32>>
  %g0 = commsched.wait %f0 {commsched.chunk = {axis = 0 : i64, blocks = 1 : i64, count = 2 : i64, index = 0 : i64, of = "w", original = {types = [tensor<64x32xf32>]}}, commsched.name = "w.chunk0"} : !commsched.future<tensor<32x32xf32>>
  %g1 = commsched.wait %f1 {commsched.chunk = {axis = 0 : i64, blocks = 1 : i64, count = 2 : i64, index = 1 : i64, of = "w"}, commsched.name = "w.chunk1"} : !commsched.future<tensor<32x32xf32>>
  %y = commsched.compute "other"(%g0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// The attribute contradicts the operation.

commsched.group @tp size(4)

// CHECK: ChunksNotMerged{{.*}}its chunks are not those of the operation that it was
func.func @contradiction(%x: tensor<16x32xf32>, %w: tensor<32x8xf32>) -> tensor<16x8xf32> {
  %x0 = tensor.extract_slice %x[0, 0] [8, 32] [1, 1] : tensor<16x32xf32> to tensor<8x32xf32>
  %x1 = tensor.extract_slice %x[8, 0] [8, 32] [1, 1] : tensor<16x32xf32> to tensor<8x32xf32>
  %a = commsched.compute "aten.mm"(%x0, %w) {split = "m k, k n -> m n", commsched.chunk = {axis = 2 : i64, blocks = 1 : i64, count = 2 : i64, index = 0 : i64, of = "mm", original = {types = [tensor<16x8xf32>]}}}
      : (tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>
  %b = commsched.compute "aten.mm"(%x1, %w) {split = "m k, k n -> m n", commsched.chunk = {axis = 2 : i64, blocks = 1 : i64, count = 2 : i64, index = 1 : i64, of = "mm"}}
      : (tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>
  %y = tensor.concat dim(0) %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %f = commsched.all_reduce %y on @tp reduction(sum) : tensor<16x8xf32> -> !commsched.future<tensor<16x8xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<16x8xf32>>
  return %r : tensor<16x8xf32>
}
