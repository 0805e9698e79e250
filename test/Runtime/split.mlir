// Programs whose collectives are divided into chunks run, and deliver what they
// did before: slices, copies of strided values and concatenations included.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: commsched-opt rows.mlir --commsched-split=chunks=2 -o split.mlir
// RUN: FileCheck %s --check-prefix=CHUNKS --input-file=split.mlir
// CHUNKS: "gather.chunk1"
// RUN: commsched-run split.mlir --ranks=4 --compare=rows.mlir -o /dev/null \
// RUN:   | FileCheck %s
// RUN: commsched-opt rows.mlir -o split.mlir \
// RUN:   --commsched-split="chunks=8 extent=widest" --commsched-schedule
// RUN: commsched-run split.mlir --ranks=4 --compare=rows.mlir -o /dev/null \
// RUN:   | FileCheck %s
// RUN: commsched-opt columns.mlir --commsched-split=chunks=4 -o split.mlir
// RUN: FileCheck %s --check-prefix=CHUNKS --input-file=split.mlir
// RUN: commsched-run split.mlir --ranks=4 --compare=columns.mlir -o /dev/null \
// RUN:   | FileCheck %s
// RUN: commsched-opt experts.mlir --commsched-split=chunks=3 -o split.mlir
// RUN: FileCheck %s --check-prefix=EXPERTS --input-file=split.mlir
// EXPERTS: "dispatch.chunk2"
// RUN: commsched-run split.mlir --ranks=4 --compare=experts.mlir -o /dev/null \
// RUN:   | FileCheck %s
// Rows that are exchanged by values stay whole, columns are divided.
// RUN: commsched-opt values.mlir --test-commsched-infer-size-hints \
// RUN:   --commsched-split=chunks=2 -o split.mlir
// RUN: FileCheck %s --check-prefix=VALUES --input-file=split.mlir
// VALUES: "exchange.chunk1"{{.*}} : tensor<8x2xf32> -> !commsched.future<tensor<?x2xf32>>
// RUN: commsched-run split.mlir --ranks=4 --compare=values.mlir -o /dev/null \
// RUN:   | FileCheck %s
// CHECK: {{^}}equal: all {{[0-9]+}} elements on 4 ranks{{$}}
//
// Where operators are opaque, the runtime makes the copies: nothing runs on the
// processor that a GPU could not do.
// RUN: commsched-opt opaque.mlir --commsched-split=chunks=2 -o split.mlir
// RUN: commsched-run split.mlir --ranks=4 -o /dev/null
// RUN: commsched-opt split.mlir --convert-commsched-to-runtime \
// RUN:   | FileCheck %s --check-prefix=OPAQUE
// OPAQUE: @commsched_program(
// OPAQUE-NOT: host_code
// OPAQUE-SAME: gather.chunk1
// OPAQUE-NOT: linalg.
// OPAQUE: call @commsched_copy(
// OPAQUE-NOT: linalg.

//--- rows.mlir

commsched.group @tp size(4)

func.func @main(%x: tensor<8x16xf32>, %w1: tensor<16x12xf32>, %w2: tensor<12x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "gather"}
      : tensor<8x16xf32> -> !commsched.future<tensor<32x16xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<32x16xf32>>
  %e1 = tensor.empty() : tensor<32x12xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x12xf32>) -> tensor<32x12xf32>
  %h = linalg.matmul {commsched.name = "up"} ins(%g, %w1 : tensor<32x16xf32>, tensor<16x12xf32>) outs(%i1 : tensor<32x12xf32>) -> tensor<32x12xf32>
  %e2 = tensor.empty() : tensor<32x16xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<32x16xf32>) -> tensor<32x16xf32>
  %o = linalg.matmul {commsched.name = "down"} ins(%h, %w2 : tensor<32x12xf32>, tensor<12x16xf32>) outs(%i2 : tensor<32x16xf32>) -> tensor<32x16xf32>
  %s = commsched.reduce_scatter %o on @tp reduction(sum) dim(0) {commsched.name = "scatter"}
      : tensor<32x16xf32> -> !commsched.future<tensor<8x16xf32>>
  %r = commsched.wait %s : !commsched.future<tensor<8x16xf32>>
  return %r : tensor<8x16xf32>
}

//--- columns.mlir

commsched.group @tp size(4)

// Columns are gathered, and scattered again.
func.func @main(%x: tensor<12x4xf32>, %w: tensor<16x16xf32>) -> tensor<12x4xf32> {
  %zero = arith.constant 0.0 : f32
  %f = commsched.all_gather %x on @tp dim(1) {commsched.name = "gather"}
      : tensor<12x4xf32> -> !commsched.future<tensor<12x16xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<12x16xf32>>
  %e = tensor.empty() : tensor<12x16xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<12x16xf32>) -> tensor<12x16xf32>
  %y = linalg.matmul {commsched.name = "product"}
      ins(%g, %w : tensor<12x16xf32>, tensor<16x16xf32>)
      outs(%i : tensor<12x16xf32>) -> tensor<12x16xf32>
  %s = commsched.reduce_scatter %y on @tp reduction(sum) dim(1)
      {commsched.name = "scatter"}
      : tensor<12x16xf32> -> !commsched.future<tensor<12x4xf32>>
  %r = commsched.wait %s : !commsched.future<tensor<12x4xf32>>
  return %r : tensor<12x4xf32>
}

//--- experts.mlir

commsched.group @ep size(4)

// Rows for four experts, each of them on a rank, and back.
func.func @main(%x: tensor<4x6x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %f = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      {commsched.name = "dispatch"}
      : tensor<4x6x8xf32> -> !commsched.future<tensor<4x6x8xf32>>
  %t = commsched.wait %f : !commsched.future<tensor<4x6x8xf32>>
  %rows = tensor.collapse_shape %t [[0, 1], [2]]
      : tensor<4x6x8xf32> into tensor<24x8xf32>
  %e = tensor.empty() : tensor<24x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<24x8xf32>) -> tensor<24x8xf32>
  %y = linalg.matmul {commsched.name = "expert"}
      ins(%rows, %w : tensor<24x8xf32>, tensor<8x8xf32>)
      outs(%i : tensor<24x8xf32>) -> tensor<24x8xf32>
  %z = tensor.expand_shape %y [[0, 1], [2]] output_shape [4, 6, 8]
      : tensor<24x8xf32> into tensor<4x6x8xf32>
  %g = commsched.all_to_all %z on @ep split_dim(0) concat_dim(0)
      {commsched.name = "combine"}
      : tensor<4x6x8xf32> -> !commsched.future<tensor<4x6x8xf32>>
  %r = commsched.wait %g : !commsched.future<tensor<4x6x8xf32>>
  return %r : tensor<4x6x8xf32>
}

//--- opaque.mlir

commsched.group @tp size(4)

func.func @main(%x: tensor<8x16xf32>, %w1: tensor<16x12xf32>, %w2: tensor<12x16xf32>) -> (tensor<8x16xf32>, tensor<32x12xf32>) {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "gather"}
      : tensor<8x16xf32> -> !commsched.future<tensor<32x16xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<32x16xf32>>
  %h = commsched.compute "aten.mm"(%g, %w1) {flops = 1.0e12, commsched.name = "up", split = "m k, k n -> m n"} : (tensor<32x16xf32>, tensor<16x12xf32>) -> tensor<32x12xf32>
  %o = commsched.compute "aten.mm"(%h, %w2) {flops = 1.0e12, commsched.name = "down", split = "m k, k n -> m n"} : (tensor<32x12xf32>, tensor<12x16xf32>) -> tensor<32x16xf32>
  %s = commsched.reduce_scatter %o on @tp reduction(sum) dim(0) {commsched.name = "scatter"}
      : tensor<32x16xf32> -> !commsched.future<tensor<8x16xf32>>
  %r = commsched.wait %s : !commsched.future<tensor<8x16xf32>>
  return %r, %h : tensor<8x16xf32>, tensor<32x12xf32>
}

//--- values.mlir

commsched.group @ep size(4)

// Rank r sends as many rows to rank c as row r and column c of a table say.
func.func @main(%x: tensor<8x6xf32>, %w: tensor<6x4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %me = commsched.rank on @ep : index
  %table = arith.constant dense<[[2, 1, 0, 5], [5, 2, 1, 0], [0, 5, 2, 1],
                                 [1, 0, 5, 2]]> : tensor<4x4xi64>
  %transposed = arith.constant dense<[[2, 5, 0, 1], [1, 2, 5, 0], [0, 1, 2, 5],
                                      [5, 0, 1, 2]]> : tensor<4x4xi64>
  %s = tensor.extract_slice %table[%me, 0] [1, 4] [1, 1]
      : tensor<4x4xi64> to tensor<4xi64>
  %r = tensor.extract_slice %transposed[%me, 0] [1, 4] [1, 1]
      : tensor<4x4xi64> to tensor<4xi64>
  %e = tensor.empty() : tensor<8x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = linalg.matmul {commsched.name = "mm"} ins(%x, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%i : tensor<8x4xf32>) -> tensor<8x4xf32>
  %f = commsched.all_to_all %p on @ep split_dim(0) concat_dim(0)
      input_splits(%s : tensor<4xi64>) output_splits(%r : tensor<4xi64>) {commsched.name = "exchange"}
      : tensor<8x4xf32> -> !commsched.future<tensor<?x4xf32>>
  %y = commsched.wait %f : !commsched.future<tensor<?x4xf32>>
  %z = tensor.cast %y : tensor<?x4xf32> to tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}
