// RUN: commsched-test-opt %s --test-merge-collectives | FileCheck %s

commsched.group @dp size(4)

// CHECK-LABEL: func.func @along_rows(
// CHECK-SAME: %[[A:.+]]: tensor<8x3xf32>, %[[B:.+]]: tensor<16xf32>)
// CHECK-NEXT: %[[IN:.+]] = commsched.chunk_cat %[[A]], %[[B]] on @dp : tensor<8x3xf32>, tensor<16xf32> -> tensor<40xf32>
// CHECK-NEXT: %[[F:.+]] = commsched.reduce_scatter %[[IN]] on @dp reduction(avg) dim(0) : tensor<40xf32> -> !commsched.future<tensor<10xf32>>
// CHECK-NEXT: %[[W:.+]] = commsched.wait %[[F]]
// CHECK-NEXT: %[[FLAT:.+]] = tensor.extract_slice %[[W]][0] [6] [1] : tensor<10xf32> to tensor<6xf32>
// CHECK-NEXT: %[[PART_A:.+]] = tensor.expand_shape %[[FLAT]] {{\[}}[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
// CHECK-NEXT: %[[PART_B:.+]] = tensor.extract_slice %[[W]][6] [4] [1] : tensor<10xf32> to tensor<4xf32>
// CHECK-NEXT: return %[[PART_A]], %[[PART_B]]
func.func @along_rows(%a: tensor<8x3xf32>, %b: tensor<16xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) {
  %0 = commsched.reduce_scatter %a on @dp reduction(avg) dim(0) : tensor<8x3xf32> -> !commsched.future<tensor<2x3xf32>>
  %1 = commsched.reduce_scatter %b on @dp reduction(avg) dim(0) : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<2x3xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<4xf32>>
  return %2, %3 : tensor<2x3xf32>, tensor<4xf32>
}

// Behind dimensions of size 1, the chunks are those of the first dimension.
// CHECK-LABEL: func.func @behind_ones(
// CHECK-SAME: %[[A:.+]]: tensor<1x8x3xf32>, %[[B:.+]]: tensor<1x4xf32>)
// CHECK-NEXT: %[[FLAT_A:.+]] = tensor.collapse_shape %[[A]] {{\[}}[0, 1, 2]] : tensor<1x8x3xf32> into tensor<24xf32>
// CHECK-NEXT: %[[FLAT_B:.+]] = tensor.collapse_shape %[[B]] {{\[}}[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
// CHECK-NEXT: commsched.chunk_cat %[[FLAT_A]], %[[FLAT_B]] on @dp : tensor<24xf32>, tensor<4xf32> -> tensor<28xf32>
// CHECK-NEXT: commsched.reduce_scatter %{{.+}} on @dp reduction(sum) dim(0) : tensor<28xf32> -> !commsched.future<tensor<7xf32>>
// CHECK: tensor.expand_shape %{{.+}} {{\[}}[0, 1, 2]] output_shape [1, 2, 3] : tensor<6xf32> into tensor<1x2x3xf32>
// CHECK: tensor.expand_shape %{{.+}} {{\[}}[0, 1]] output_shape [1, 1] : tensor<1xf32> into tensor<1x1xf32>
func.func @behind_ones(%a: tensor<1x8x3xf32>, %b: tensor<1x4xf32>) -> (tensor<1x2x3xf32>, tensor<1x1xf32>) {
  %0 = commsched.reduce_scatter %a on @dp reduction(sum) dim(1) : tensor<1x8x3xf32> -> !commsched.future<tensor<1x2x3xf32>>
  %1 = commsched.reduce_scatter %b on @dp reduction(sum) dim(1) : tensor<1x4xf32> -> !commsched.future<tensor<1x1xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<1x2x3xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<1x1xf32>>
  return %2, %3 : tensor<1x2x3xf32>, tensor<1x1xf32>
}
