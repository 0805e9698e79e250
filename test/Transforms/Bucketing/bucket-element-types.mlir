// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather=multi-dtype | FileCheck %s
// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather | FileCheck %s --check-prefix=SINGLE

// Gathers of different element types share a bucket only if they may travel as
// bytes.

commsched.group @g size(2)

// CHECK-LABEL: func.func @two_types(
// CHECK-NEXT: commsched.all_gather_copy_in %arg0, %arg1 on @g packed([f32, bf16])
// CHECK-NEXT: commsched.all_gather %
// CHECK-NEXT: %[[W:.+]] = commsched.wait
// CHECK-NEXT: %[[OUT:.+]]:2 = commsched.split_with_sizes_copy %[[W]] on @g : tensor<48xi8> -> tensor<8xf32>, tensor<8xbf16>
// CHECK-NEXT: return %[[OUT]]#0, %[[OUT]]#1
// SINGLE-LABEL: func.func @two_types(
// SINGLE-COUNT-2: commsched.all_gather %arg
func.func @two_types(%a: tensor<4xf32>, %b: tensor<4xbf16>) -> (tensor<8xf32>, tensor<8xbf16>) {
  $run(%w1 = all_gather %a on @g dim(0) : tensor<4xf32> -> tensor<8xf32>)
  $run(%w2 = all_gather %b on @g dim(0) : tensor<4xbf16> -> tensor<8xbf16>)
  return %w1, %w2 : tensor<8xf32>, tensor<8xbf16>
}
