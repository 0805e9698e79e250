// A gather is a ring of permutes whose parts are written at offsets that depend
// on the rank, and collectives take and fill such parts.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: commsched-run ring.mlir --ranks=4 --compare=gather.mlir -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=ROWS
// ROWS: {{^}}equal: all 288 elements on 4 ranks{{$}}
//
// RUN: commsched-run views.mlir --ranks=4 --compare=whole.mlir -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=VIEWS
// VIEWS: {{^}}equal: all 768 elements on 4 ranks{{$}}

//--- ring.mlir

commsched.group @ring size(4)

func.func @main(%x: tensor<6x3xf32>) -> tensor<24x3xf32> {
  %me = commsched.rank on @ring : index
  %n = arith.constant 4 : index
  %size = arith.constant 6 : index
  %empty = tensor.empty() : tensor<24x3xf32>
  %at0 = arith.muli %me, %size : index
  %whole0 = tensor.insert_slice %x into %empty[%at0, 0] [6, 3] [1, 1]
      : tensor<6x3xf32> into tensor<24x3xf32>
  %f1 = commsched.permute %x on @ring
      pairs(dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>)
      : tensor<6x3xf32> -> !commsched.future<tensor<6x3xf32>>
  %x1 = commsched.wait %f1 : !commsched.future<tensor<6x3xf32>>
  %back1 = arith.constant 3 : index
  %sum1 = arith.addi %me, %back1 : index
  %from1 = arith.remui %sum1, %n : index
  %at1 = arith.muli %from1, %size : index
  %whole1 = tensor.insert_slice %x1 into %whole0[%at1, 0] [6, 3] [1, 1]
      : tensor<6x3xf32> into tensor<24x3xf32>
  %f2 = commsched.permute %x1 on @ring
      pairs(dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>)
      : tensor<6x3xf32> -> !commsched.future<tensor<6x3xf32>>
  %x2 = commsched.wait %f2 : !commsched.future<tensor<6x3xf32>>
  %back2 = arith.constant 2 : index
  %sum2 = arith.addi %me, %back2 : index
  %from2 = arith.remui %sum2, %n : index
  %at2 = arith.muli %from2, %size : index
  %whole2 = tensor.insert_slice %x2 into %whole1[%at2, 0] [6, 3] [1, 1]
      : tensor<6x3xf32> into tensor<24x3xf32>
  %f3 = commsched.permute %x2 on @ring
      pairs(dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>)
      : tensor<6x3xf32> -> !commsched.future<tensor<6x3xf32>>
  %x3 = commsched.wait %f3 : !commsched.future<tensor<6x3xf32>>
  %back3 = arith.constant 1 : index
  %sum3 = arith.addi %me, %back3 : index
  %from3 = arith.remui %sum3, %n : index
  %at3 = arith.muli %from3, %size : index
  %whole3 = tensor.insert_slice %x3 into %whole2[%at3, 0] [6, 3] [1, 1]
      : tensor<6x3xf32> into tensor<24x3xf32>
  return %whole3 : tensor<24x3xf32>
}

//--- gather.mlir

commsched.group @ring size(4)

func.func @main(%x: tensor<6x3xf32>) -> tensor<24x3xf32> {
  %f = commsched.all_gather %x on @ring dim(0)
      : tensor<6x3xf32> -> !commsched.future<tensor<24x3xf32>>
  %whole = commsched.wait %f : !commsched.future<tensor<24x3xf32>>
  return %whole : tensor<24x3xf32>
}

//--- views.mlir

commsched.group @ring size(4)

// A column of blocks at this rank's place is sent; what arrives is written there
// in place, into a tensor that keeps its other columns.
func.func @main(%x: tensor<8x12xf32>) -> (tensor<8x12xf32>, tensor<8x12xf32>) {
  %me = commsched.rank on @ring : index
  %size = arith.constant 3 : index
  %at = arith.muli %me, %size : index
  %part = tensor.extract_slice %x[0, %at] [8, 3] [1, 1]
      : tensor<8x12xf32> to tensor<8x3xf32>
  %f = commsched.all_reduce %part on @ring reduction(max) into %part
      : tensor<8x3xf32> into tensor<8x3xf32>
        -> !commsched.future<tensor<8x3xf32>>
  %max = commsched.wait %f : !commsched.future<tensor<8x3xf32>>
  %y = tensor.insert_slice %max into %x[0, %at] [8, 3] [1, 1]
      : tensor<8x3xf32> into tensor<8x12xf32>
  return %x, %y : tensor<8x12xf32>, tensor<8x12xf32>
}

//--- whole.mlir

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
  %empty = tensor.empty() : tensor<8x3xf32>
  %init = linalg.fill ins(%least : f32) outs(%empty : tensor<8x3xf32>)
      -> tensor<8x3xf32>
  %a = tensor.extract_slice %all[0, 0] [8, 3] [1, 1]
      : tensor<32x12xf32> to tensor<8x3xf32>
  %b = tensor.extract_slice %all[8, 3] [8, 3] [1, 1]
      : tensor<32x12xf32> to tensor<8x3xf32>
  %c = tensor.extract_slice %all[16, 6] [8, 3] [1, 1]
      : tensor<32x12xf32> to tensor<8x3xf32>
  %d = tensor.extract_slice %all[24, 9] [8, 3] [1, 1]
      : tensor<32x12xf32> to tensor<8x3xf32>
  %m = linalg.max ins(%a, %b : tensor<8x3xf32>, tensor<8x3xf32>)
      outs(%init : tensor<8x3xf32>) -> tensor<8x3xf32>
  %n = linalg.max ins(%c, %d : tensor<8x3xf32>, tensor<8x3xf32>)
      outs(%init : tensor<8x3xf32>) -> tensor<8x3xf32>
  %max = linalg.max ins(%m, %n : tensor<8x3xf32>, tensor<8x3xf32>)
      outs(%init : tensor<8x3xf32>) -> tensor<8x3xf32>
  %y = tensor.insert_slice %max into %x[0, %at] [8, 3] [1, 1]
      : tensor<8x3xf32> into tensor<8x12xf32>
  return %x, %y : tensor<8x12xf32>, tensor<8x12xf32>
}
