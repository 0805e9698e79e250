// Rows go to the ranks that the program computes, and come back. split.mlir sends
// them in chunks of columns.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: commsched-run experts.mlir --ranks=4 --compare=local.mlir -o /dev/null | FileCheck %s
// CHECK: {{^}}equal: all {{[0-9]+}} elements on 4 ranks{{$}}
//
// The schedule moves them, with the sizes that hints state.
// RUN: commsched-opt experts.mlir --test-commsched-infer-size-hints \
// RUN:   --commsched-pipeline -o scheduled.mlir
// RUN: commsched-run scheduled.mlir --ranks=4 --compare=local.mlir -o /dev/null | FileCheck %s
//
// RUN: %fails commsched-run disagree.mlir --ranks=2 -o /dev/null "rank 0: all_to_all 'x' ({{.*}}disagree.mlir:{{[0-9:]+}}) on group 'ep', launch 0: rank 0 sends 1 rows to rank 0, which expects 2"

//--- experts.mlir

commsched.group @ep size(4)

// Rank r sends as many rows to rank c as row r and column c of a table say. Each
// adds its number, and sends the rows back.
func.func @main(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %me = commsched.rank on @ep : index
  %table = arith.constant dense<[[2, 0, 1, 3], [1, 1, 0, 0], [0, 4, 2, 1], [3, 0, 0, 2]]> : tensor<4x4xi64>
  %transposed = arith.constant dense<[[2, 1, 0, 3], [0, 1, 4, 0], [1, 0, 2, 0], [3, 0, 1, 2]]> : tensor<4x4xi64>
  %sent = tensor.extract_slice %table[%me, 0] [1, 4] [1, 1] : tensor<4x4xi64> to tensor<4xi64>
  %received = tensor.extract_slice %transposed[%me, 0] [1, 4] [1, 1]
      : tensor<4x4xi64> to tensor<4xi64>
  %s0 = tensor.extract %sent[%zero] : tensor<4xi64>
  %s1 = tensor.extract %sent[%one] : tensor<4xi64>
  %s2 = tensor.extract %sent[%two] : tensor<4xi64>
  %s3 = tensor.extract %sent[%three] : tensor<4xi64>
  %s01 = arith.addi %s0, %s1 : i64
  %s23 = arith.addi %s2, %s3 : i64
  %sum = arith.addi %s01, %s23 : i64
  %rows = arith.index_cast %sum : i64 to index
  %mine = tensor.extract_slice %x[0, 0] [%rows, 3] [1, 1]
      {commsched.size_hints = array<i64: 5>} : tensor<8x3xf32> to tensor<?x3xf32>

  %dispatch = commsched.all_to_all %mine on @ep split_dim(0) concat_dim(0)
      input_splits(%sent : tensor<4xi64>)
      output_splits(%received : tensor<4xi64>) {commsched.name = "dispatch"}
      : tensor<?x3xf32> -> !commsched.future<tensor<?x3xf32>>
  %tokens = commsched.wait %dispatch : !commsched.future<tensor<?x3xf32>>

  %me64 = arith.index_cast %me : index to i64
  %rank = arith.sitofp %me64 : i64 to f32
  %first = arith.constant 1.0 : f32
  %number = arith.addf %rank, %first : f32
  %n = tensor.dim %tokens, %zero : tensor<?x3xf32>
  %empty = tensor.empty(%n) : tensor<?x3xf32>
  %expert = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<?x3xf32>) outs(%empty : tensor<?x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.addf %in, %number : f32
    linalg.yield %y : f32
  } -> tensor<?x3xf32>

  %combine = commsched.all_to_all %expert on @ep split_dim(0) concat_dim(0)
      input_splits(%received : tensor<4xi64>)
      output_splits(%sent : tensor<4xi64>) {commsched.name = "combine"}
      : tensor<?x3xf32> -> !commsched.future<tensor<?x3xf32>>
  %back = commsched.wait %combine : !commsched.future<tensor<?x3xf32>>
  %result = tensor.insert_slice %back into %x[0, 0] [%rows, 3] [1, 1]
      : tensor<?x3xf32> into tensor<8x3xf32>
  return %result : tensor<8x3xf32>
}

//--- local.mlir

commsched.group @ep size(4)

// What is added to each row, by the rank that it was sent to.
func.func @main(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %me = commsched.rank on @ep : index
  %numbers = arith.constant dense<
         [[1.0, 1.0, 3.0, 4.0, 4.0, 4.0, 0.0, 0.0],
          [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
          [2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 4.0, 0.0],
          [1.0, 1.0, 1.0, 4.0, 4.0, 0.0, 0.0, 0.0]]> : tensor<4x8xf32>
  %mine = tensor.extract_slice %numbers[%me, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
  %empty = tensor.empty() : tensor<8x3xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %mine : tensor<8x3xf32>, tensor<8xf32>)
      outs(%empty : tensor<8x3xf32>) {
  ^bb0(%in: f32, %number: f32, %out: f32):
    %y = arith.addf %in, %number : f32
    linalg.yield %y : f32
  } -> tensor<8x3xf32>
  return %result : tensor<8x3xf32>
}

//--- disagree.mlir

commsched.group @ep size(2)

func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %me = commsched.rank on @ep : index
  %rank = arith.index_cast %me : index to i64
  %one = arith.constant 1 : i64
  %three = arith.constant 3 : i64
  %a = arith.addi %rank, %one : i64
  %b = arith.subi %three, %rank : i64
  %sent = tensor.from_elements %a, %b : tensor<2xi64>
  %received = arith.constant dense<[2, 2]> : tensor<2xi64>
  %f = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      input_splits(%sent : tensor<2xi64>)
      output_splits(%received : tensor<2xi64>) {commsched.name = "x"}
      : tensor<4x2xf32> -> !commsched.future<tensor<4x2xf32>>
  %y = commsched.wait %f : !commsched.future<tensor<4x2xf32>>
  return %y : tensor<4x2xf32>
}
