// RUN: commsched-test-opt %s --test-merge-collectives | FileCheck %s

commsched.group @dp size(4)

// CHECK-LABEL: func.func @any_shape(
// CHECK-SAME: %[[A:.+]]: tensor<2x3xf32>, %[[B:.+]]: tensor<f32>, %[[C:.+]]: tensor<4xf32>, %[[D:.+]]: tensor<1x1xf32>)
// CHECK-NEXT: %[[FLAT_A:.+]] = tensor.collapse_shape %[[A]] {{\[}}[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
// CHECK-NEXT: %[[FLAT_B:.+]] = tensor.expand_shape %[[B]] [] output_shape [1] : tensor<f32> into tensor<1xf32>
// CHECK-NEXT: %[[FLAT_D:.+]] = tensor.collapse_shape %[[D]] {{\[}}[0, 1]] : tensor<1x1xf32> into tensor<1xf32>
// CHECK-NEXT: %[[IN:.+]] = tensor.concat dim(0) %[[FLAT_A]], %[[FLAT_B]], %[[C]], %[[FLAT_D]] : (tensor<6xf32>, tensor<1xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<12xf32>
// CHECK-NEXT: %[[F:.+]] = commsched.all_reduce %[[IN]] on @dp reduction(max) : tensor<12xf32> -> !commsched.future<tensor<12xf32>>
// CHECK-NEXT: %[[W:.+]] = commsched.wait %[[F]]
// CHECK-NEXT: %[[SLICE_A:.+]] = tensor.extract_slice %[[W]][0] [6] [1]
// CHECK-NEXT: %[[OUT_A:.+]] = tensor.expand_shape %[[SLICE_A]] {{\[}}[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
// CHECK-NEXT: %[[SLICE_B:.+]] = tensor.extract_slice %[[W]][6] [1] [1]
// CHECK-NEXT: %[[OUT_B:.+]] = tensor.collapse_shape %[[SLICE_B]] [] : tensor<1xf32> into tensor<f32>
// CHECK-NEXT: %[[OUT_C:.+]] = tensor.extract_slice %[[W]][7] [4] [1]
// CHECK-NEXT: %[[SLICE_D:.+]] = tensor.extract_slice %[[W]][11] [1] [1]
// CHECK-NEXT: %[[OUT_D:.+]] = tensor.expand_shape %[[SLICE_D]] {{\[}}[0, 1]] output_shape [1, 1] : tensor<1xf32> into tensor<1x1xf32>
// CHECK-NEXT: return %[[OUT_A]], %[[OUT_B]], %[[OUT_C]], %[[OUT_D]]
func.func @any_shape(%a: tensor<2x3xf32>, %b: tensor<f32>, %c: tensor<4xf32>, %d: tensor<1x1xf32>)
    -> (tensor<2x3xf32>, tensor<f32>, tensor<4xf32>, tensor<1x1xf32>) {
  %0 = commsched.all_reduce %a on @dp reduction(max) : tensor<2x3xf32> -> !commsched.future<tensor<2x3xf32>>
  %1 = commsched.all_reduce %b on @dp reduction(max) : tensor<f32> -> !commsched.future<tensor<f32>>
  %2 = commsched.all_reduce %c on @dp reduction(max) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %3 = commsched.all_reduce %d on @dp reduction(max) : tensor<1x1xf32> -> !commsched.future<tensor<1x1xf32>>
  %4 = commsched.wait %0 : !commsched.future<tensor<2x3xf32>>
  %5 = commsched.wait %1 : !commsched.future<tensor<f32>>
  %6 = commsched.wait %2 : !commsched.future<tensor<4xf32>>
  %7 = commsched.wait %3 : !commsched.future<tensor<1x1xf32>>
  return %4, %5, %6, %7 : tensor<2x3xf32>, tensor<f32>, tensor<4xf32>, tensor<1x1xf32>
}
