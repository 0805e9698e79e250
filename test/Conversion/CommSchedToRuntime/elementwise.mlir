// RUN: commsched-opt %s --convert-commsched-to-runtime | FileCheck %s

// Casts of whole tensors, as they stand before gathers, are loops in the end.

commsched.group @dp size(2)

// CHECK-LABEL: func.func @cast_and_gather(
// CHECK: linalg.generic
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: call @commsched_start
func.func @cast_and_gather(%x: tensor<4xf32>) -> tensor<8xbf16> {
  %cast = arith.truncf %x : tensor<4xf32> to tensor<4xbf16>
  %future = commsched.all_gather %cast on @dp dim(0)
      : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %full = commsched.wait %future : !commsched.future<tensor<8xbf16>>
  return %full : tensor<8xbf16>
}
