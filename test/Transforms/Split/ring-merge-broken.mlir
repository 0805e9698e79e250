// Chunks that are not those of a ring are left as they are.
// RUN: commsched-opt %s --commsched-split=mode=ring -o %t.split
// RUN: sed 's/\[\[0, 1\], \[1, 2\], \[2, 3\], \[3, 0\]\]/[[0, 3], [1, 0], [2, 1], [3, 2]]/' %t.split > %t.pairs
// RUN: commsched-opt %t.pairs --commsched-merge-chunks --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s --check-prefix=PAIRS
// RUN: sed 's/properties = {dim = 0/properties = {dim = 1/' %t.split > %t.dim
// RUN: commsched-opt %t.dim --commsched-merge-chunks --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: sed 's/arith.remui/arith.divui/' %t.split > %t.places
// RUN: commsched-opt %t.places --commsched-merge-chunks --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLACES

// PAIRS: ChunksNotMerged{{.*}}its chunks do not come from one rank after the other
// DIM: ChunksNotMerged{{.*}}its attribute does not say what it was
// PLACES: ChunksNotMerged{{.*}}reads chunk 0 alone

commsched.group @tp size(4)

func.func @product(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>)
    -> tensor<64x64xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f {commsched.name = "w"} : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w) {flops = 262144.0, split = "m k, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}
