// Collectives take and fill parts of tensors at offsets that depend on the rank.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: commsched-run views.mlir --ranks=4 --compare=whole.mlir -o /dev/null | FileCheck %s
// CHECK: {{^}}equal: all 768 elements on 4 ranks{{$}}

//--- views.mlir

commsched.group @ring size(4)

// A column of blocks at this rank's place is sent; what arrives is written there
// in place, into a tensor that keeps its other columns.
func.func @main(%x: tensor<8x12xf32>) -> (tensor<8x12xf32>, tensor<8x12xf32>) {
  %me = commsched.rank on @ring : index
  %size = arith.constant 3 : index
  %at = arith.muli %me, %size : index
  %part = tensor.extract_slice %x[0, %at] [8, 3] [1, 1] : tensor<8x12xf32> to tensor<8x3xf32>
  %f = commsched.all_reduce %part on @ring reduction(max) into %part
      : tensor<8x3xf32> into tensor<8x3xf32>
        -> !commsched.future<tensor<8x3xf32>>
  %max = commsched.wait %f : !commsched.future<tensor<8x3xf32>>
  %y = tensor.insert_slice %max into %x[0, %at] [8, 3] [1, 1]
      : tensor<8x3xf32> into tensor<8x12xf32>
  return %x, %y : tensor<8x12xf32>, tensor<8x12xf32>
}

//--- whole.mlir

!t = tensor<8x3xf32>
commsched.group @ring size(4)

// The same from whole tensors.
func.func @main(%x: tensor<8x12xf32>) -> (tensor<8x12xf32>, tensor<8x12xf32>) {
  %f = commsched.all_gather %x on @ring dim(0)
      : tensor<8x12xf32> -> !commsched.future<tensor<32x12xf32>>
  %all = commsched.wait %f : !commsched.future<tensor<32x12xf32>>
  %me = commsched.rank on @ring : index
  %size = arith.constant 3 : index
  %at = arith.muli %me, %size : index
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : !t
  %init = linalg.fill ins(%least : f32) outs(%empty : !t) -> !t
  %a = tensor.extract_slice %all[0, 0] [8, 3] [1, 1] : tensor<32x12xf32> to !t
  %b = tensor.extract_slice %all[8, 3] [8, 3] [1, 1] : tensor<32x12xf32> to !t
  %c = tensor.extract_slice %all[16, 6] [8, 3] [1, 1] : tensor<32x12xf32> to !t
  %d = tensor.extract_slice %all[24, 9] [8, 3] [1, 1] : tensor<32x12xf32> to !t
  %m = linalg.max ins(%a, %b : !t, !t) outs(%init : !t) -> !t
  %n = linalg.max ins(%c, %d : !t, !t) outs(%init : !t) -> !t
  %max = linalg.max ins(%m, %n : !t, !t) outs(%init : !t) -> !t
  %y = tensor.insert_slice %max into %x[0, %at] [8, 3] [1, 1] : !t into tensor<8x12xf32>
  return %x, %y : tensor<8x12xf32>, tensor<8x12xf32>
}
