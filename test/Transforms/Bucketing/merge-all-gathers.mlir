// RUN: commsched-opt %s --commsched-bucket=mode=copy | FileCheck %s

commsched.group @dp size(4)

// Behind dimensions of size 1, a gather is one along the first: a view. Along
// other dimensions, the rows of a tensor that has lain rank by rank are
// brought together.
// CHECK-LABEL: func.func @along_others(
// CHECK-SAME: %[[A:.+]]: tensor<1x1x3x2xf32>, %[[B:.+]]: tensor<2x3x5x7xf32>, %[[C:.+]]: tensor<2x3xf32>)
// CHECK: commsched.all_gather_copy_in %[[A]], %[[B]], %[[C]] on @dp : tensor<1x1x3x2xf32>, tensor<2x3x5x7xf32>, tensor<2x3xf32> -> tensor<222xf32>, tensor<888xf32>
// CHECK: %[[OUT:.+]]:3 = commsched.split_with_sizes_copy %{{.+}} on @dp : tensor<888xf32> -> tensor<24xf32>, tensor<4x6x35xf32>, tensor<8x3xf32>
// CHECK-NEXT: %[[WHOLE_A:.+]] = tensor.expand_shape %[[OUT]]#0 {{\[}}[0, 1, 2, 3]] output_shape [1, 1, 12, 2] : tensor<24xf32> into tensor<1x1x12x2xf32>
// CHECK-NEXT: %[[EMPTY:.+]] = tensor.empty() : tensor<6x4x35xf32>
// CHECK-NEXT: %[[T:.+]] = linalg.transpose ins(%[[OUT]]#1 : tensor<4x6x35xf32>) outs(%[[EMPTY]] : tensor<6x4x35xf32>) permutation = [1, 0, 2]
// CHECK-NEXT: %[[FLAT:.+]] = tensor.collapse_shape %[[T]] {{\[}}[0, 1, 2]] : tensor<6x4x35xf32> into tensor<840xf32>
// CHECK-NEXT: %[[WHOLE_B:.+]] = tensor.expand_shape %[[FLAT]] {{\[}}[0, 1, 2, 3]] output_shape [2, 3, 20, 7] : tensor<840xf32> into tensor<2x3x20x7xf32>
// CHECK-NEXT: return %[[WHOLE_A]], %[[WHOLE_B]], %[[OUT]]#2
func.func @along_others(%a: tensor<1x1x3x2xf32>, %b: tensor<2x3x5x7xf32>, %c: tensor<2x3xf32>)
    -> (tensor<1x1x12x2xf32>, tensor<2x3x20x7xf32>, tensor<8x3xf32>) {
  %0 = commsched.all_gather %a on @dp dim(2) : tensor<1x1x3x2xf32> -> !commsched.future<tensor<1x1x12x2xf32>>
  %1 = commsched.all_gather %b on @dp dim(2) : tensor<2x3x5x7xf32> -> !commsched.future<tensor<2x3x20x7xf32>>
  %2 = commsched.all_gather %c on @dp dim(0) : tensor<2x3xf32> -> !commsched.future<tensor<8x3xf32>>
  %3 = commsched.wait %0 : !commsched.future<tensor<1x1x12x2xf32>>
  %4 = commsched.wait %1 : !commsched.future<tensor<2x3x20x7xf32>>
  %5 = commsched.wait %2 : !commsched.future<tensor<8x3xf32>>
  return %3, %4, %5 : tensor<1x1x12x2xf32>, tensor<2x3x20x7xf32>, tensor<8x3xf32>
}
