// RUN: commsched-opt %s --commsched-bucket-all-gather=multi-dtype | FileCheck %s
// RUN: commsched-opt %s --commsched-bucket-all-gather | FileCheck %s --check-prefix=SINGLE

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
  %f1 = commsched.all_gather %a on @g dim(0) : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<8xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<8xbf16>>
  return %w1, %w2 : tensor<8xf32>, tensor<8xbf16>
}

// 40 bytes of each rank for each tensor, in and out. With one element type,
// those of that type travel around the other one.
// CHECK-LABEL: func.func @same_bytes(
// CHECK-NEXT: commsched.all_gather_copy_in %arg0, %arg1, %arg2 on @g packed([f32, f16, f32]) : tensor<10xf32>, tensor<20xf16>, tensor<2x5xf32> -> tensor<120xi8>, tensor<240xi8>
// CHECK: commsched.split_with_sizes_copy %{{.+}} on @g : tensor<240xi8> -> tensor<20xf32>, tensor<40xf16>, tensor<4x5xf32>
// SINGLE-LABEL: func.func @same_bytes(
// SINGLE-NEXT: commsched.all_gather_copy_in %arg0, %arg2 on @g : tensor<10xf32>, tensor<2x5xf32> -> tensor<20xf32>, tensor<40xf32>
// SINGLE-NEXT: commsched.all_gather %
// SINGLE-NEXT: commsched.all_gather %arg1
// SINGLE: commsched.split_with_sizes_copy %{{.+}} on @g : tensor<40xf32> -> tensor<20xf32>, tensor<4x5xf32>
func.func @same_bytes(%a: tensor<10xf32>, %b: tensor<20xf16>, %c: tensor<2x5xf32>) -> (tensor<20xf32>, tensor<40xf16>, tensor<4x5xf32>) {
  %f1 = commsched.all_gather %a on @g dim(0) : tensor<10xf32> -> !commsched.future<tensor<20xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) : tensor<20xf16> -> !commsched.future<tensor<40xf16>>
  %f3 = commsched.all_gather %c on @g dim(0) : tensor<2x5xf32> -> !commsched.future<tensor<4x5xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<20xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<40xf16>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<4x5xf32>>
  return %w1, %w2, %w3 : tensor<20xf32>, tensor<40xf16>, tensor<4x5xf32>
}

// What is cast for a gather is cast as it is packed, from whatever type.
// CHECK-LABEL: func.func @cast(
// CHECK-NEXT: commsched.all_gather_copy_in %arg0, %arg1, %arg2, %arg3 on @g packed([f16, f16, f16, f64]) : tensor<4xf32>, tensor<4xf64>, tensor<4xf16>, tensor<4xf64> -> tensor<56xi8>, tensor<112xi8>
// CHECK-COUNT-1: commsched.wait
// CHECK-NOT: commsched.wait
func.func @cast(%a: tensor<4xf32>, %b: tensor<4xf64>, %c: tensor<4xf16>, %d: tensor<4xf64>) -> (tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf64>) {
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<4xf32>) -> tensor<4xf16>
  %f1 = commsched.all_gather %ca on @g dim(0) : tensor<4xf16> -> !commsched.future<tensor<8xf16>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<8xf16>>
  %cb = arith.truncf %b : tensor<4xf64> to tensor<4xf16>
  %f2 = commsched.all_gather %cb on @g dim(0) : tensor<4xf16> -> !commsched.future<tensor<8xf16>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<8xf16>>
  %f3 = commsched.all_gather %c on @g dim(0) : tensor<4xf16> -> !commsched.future<tensor<8xf16>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<8xf16>>
  %f4 = commsched.all_gather %d on @g dim(0) : tensor<4xf64> -> !commsched.future<tensor<8xf64>>
  %w4 = commsched.wait %f4 : !commsched.future<tensor<8xf64>>
  return %w1, %w2, %w3, %w4 : tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf64>
}
