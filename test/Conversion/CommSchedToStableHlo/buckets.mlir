// Copies of buckets, and the operations of other dialects that merging creates.

// RUN: commsched-opt %s --convert-commsched-to-stablehlo --mlir-print-op-generic --mlir-print-local-scope \
// RUN:   | FileCheck %s -enable-var-scope --implicit-check-not=commsched --implicit-check-not=tensor.empty

module attributes {mhlo.num_replicas = 2 : i32} {
  commsched.group @g size(2)

  // CHECK-LABEL: sym_name = "gather"
  // CHECK: ^bb0(%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<4xf32>):
  // CHECK-NEXT: %[[A1:.*]] = "stablehlo.reshape"(%[[A]]) : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK-NEXT: %[[A2:.*]] = "stablehlo.convert"(%[[A1]]) : (tensor<6xf32>) -> tensor<6xbf16>
  // CHECK-NEXT: %[[B2:.*]] = "stablehlo.convert"(%[[B]]) : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK-NEXT: %[[P:.*]] = "stablehlo.concatenate"(%[[A2]], %[[B2]]) <{dimension = 0 : i64}> : (tensor<6xbf16>, tensor<4xbf16>) -> tensor<10xbf16>
  // CHECK-NEXT: %[[G:.*]] = "stablehlo.all_gather"(%[[P]]) <{all_gather_dim = 0 : i64, {{.*}} : (tensor<10xbf16>) -> tensor<20xbf16>
  // CHECK-NEXT: %[[ROWS:.*]] = "stablehlo.reshape"(%[[G]]) : (tensor<20xbf16>) -> tensor<2x10xbf16>
  // CHECK-NEXT: %[[FIRST:.*]] = "stablehlo.slice"(%[[ROWS]]) <{limit_indices = array<i64: 2, 6>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x10xbf16>) -> tensor<2x6xbf16>
  // CHECK-NEXT: %[[FULL:.*]] = "stablehlo.reshape"(%[[FIRST]]) : (tensor<2x6xbf16>) -> tensor<4x3xbf16>
  // CHECK-NEXT: %[[SECOND:.*]] = "stablehlo.slice"(%[[ROWS]]) <{limit_indices = array<i64: 2, 10>, start_indices = array<i64: 0, 6>, strides = array<i64: 1, 1>}> : (tensor<2x10xbf16>) -> tensor<2x4xbf16>
  // CHECK-NEXT: %[[FULL2:.*]] = "stablehlo.reshape"(%[[SECOND]]) : (tensor<2x4xbf16>) -> tensor<2x2x2xbf16>
  // CHECK-NEXT: %[[T:.*]] = "stablehlo.transpose"(%[[FULL2]]) <{permutation = array<i64: 1, 0, 2>}> : (tensor<2x2x2xbf16>) -> tensor<2x2x2xbf16>
  // CHECK-NEXT: %[[V:.*]] = "stablehlo.reshape"(%[[T]]) : (tensor<2x2x2xbf16>) -> tensor<8xbf16>
  // CHECK-NEXT: "func.return"(%[[FULL]], %[[V]])
  func.func @gather(%a: tensor<2x3xf32>, %b: tensor<4xf32>) -> (tensor<4x3xbf16>, tensor<8xbf16>) {
    %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g : tensor<2x3xf32>, tensor<4xf32> -> tensor<10xbf16>, tensor<20xbf16>
    %f = commsched.all_gather %slice on @g dim(0) into %buffer : tensor<10xbf16> into tensor<20xbf16> -> !commsched.future<tensor<20xbf16>>
    %w = commsched.wait %f : !commsched.future<tensor<20xbf16>>
    %full:2 = commsched.split_with_sizes_copy %w on @g : tensor<20xbf16> -> tensor<4x3xbf16>, tensor<2x2x2xbf16>
    %e = tensor.empty() : tensor<2x2x2xbf16>
    %t = linalg.transpose ins(%full#1 : tensor<2x2x2xbf16>) outs(%e : tensor<2x2x2xbf16>) permutation = [1, 0, 2]
    %v = tensor.collapse_shape %t [[0, 1, 2]] : tensor<2x2x2xbf16> into tensor<8xbf16>
    return %full#0, %v : tensor<4x3xbf16>, tensor<8xbf16>
  }

  // CHECK-LABEL: sym_name = "bytes"
  // CHECK: ^bb0(%[[A:.*]]: tensor<3xf32>, %[[B:.*]]: tensor<2xi1>):
  // CHECK-NEXT: %[[A1:.*]] = "stablehlo.bitcast_convert"(%[[A]]) : (tensor<3xf32>) -> tensor<3x4xi8>
  // CHECK-NEXT: %[[A2:.*]] = "stablehlo.reshape"(%[[A1]]) : (tensor<3x4xi8>) -> tensor<12xi8>
  // CHECK-NEXT: %[[B1:.*]] = "stablehlo.convert"(%[[B]]) : (tensor<2xi1>) -> tensor<2xi8>
  // CHECK-NEXT: "stablehlo.concatenate"(%[[A2]], %[[B1]])
  // CHECK: %[[ROWS:.*]] = "stablehlo.reshape"(%{{.*}}) : (tensor<28xi8>) -> tensor<2x14xi8>
  // CHECK-NEXT: %[[F1:.*]] = "stablehlo.slice"(%[[ROWS]]) {{.*}} -> tensor<2x12xi8>
  // CHECK-NEXT: %[[F2:.*]] = "stablehlo.reshape"(%[[F1]]) : (tensor<2x12xi8>) -> tensor<2x3x4xi8>
  // CHECK-NEXT: %[[F3:.*]] = "stablehlo.bitcast_convert"(%[[F2]]) : (tensor<2x3x4xi8>) -> tensor<2x3xf32>
  // CHECK-NEXT: %[[F4:.*]] = "stablehlo.reshape"(%[[F3]]) : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK-NEXT: %[[S1:.*]] = "stablehlo.slice"(%[[ROWS]]) <{limit_indices = array<i64: 2, 14>, start_indices = array<i64: 0, 12>, {{.*}} -> tensor<2x2xi8>
  // CHECK-NEXT: %[[S2:.*]] = "stablehlo.convert"(%[[S1]]) : (tensor<2x2xi8>) -> tensor<2x2xi1>
  // CHECK-NEXT: %[[S3:.*]] = "stablehlo.reshape"(%[[S2]]) : (tensor<2x2xi1>) -> tensor<4xi1>
  // CHECK-NEXT: "func.return"(%[[F4]], %[[S3]])
  func.func @bytes(%a: tensor<3xf32>, %b: tensor<2xi1>) -> (tensor<6xf32>, tensor<4xi1>) {
    %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g packed([f32, i1]) : tensor<3xf32>, tensor<2xi1> -> tensor<14xi8>, tensor<28xi8>
    %f = commsched.all_gather %slice on @g dim(0) into %buffer : tensor<14xi8> into tensor<28xi8> -> !commsched.future<tensor<28xi8>>
    %w = commsched.wait %f : !commsched.future<tensor<28xi8>>
    %full:2 = commsched.split_with_sizes_copy %w on @g : tensor<28xi8> -> tensor<6xf32>, tensor<4xi1>
    return %full#0, %full#1 : tensor<6xf32>, tensor<4xi1>
  }

  // CHECK-LABEL: sym_name = "scatter"
  // CHECK: ^bb0(%[[A:.*]]: tensor<3x2xbf16>, %[[B:.*]]: tensor<4xbf16>):
  // CHECK-NEXT: %[[A1:.*]] = "stablehlo.convert"(%[[A]]) : (tensor<3x2xbf16>) -> tensor<3x2xf32>
  // CHECK-NEXT: %[[ZERO:.*]] = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
  // CHECK-NEXT: %[[A2:.*]] = "stablehlo.pad"(%[[A1]], %[[ZERO]]) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<3x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  // CHECK-NEXT: %[[A3:.*]] = "stablehlo.reshape"(%[[A2]]) : (tensor<4x2xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %[[B1:.*]] = "stablehlo.convert"(%[[B]]) : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK-NEXT: %[[B2:.*]] = "stablehlo.reshape"(%[[B1]]) : (tensor<4xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: %[[P:.*]] = "stablehlo.concatenate"(%[[A3]], %[[B2]]) <{dimension = 1 : i64}> : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %[[FLAT:.*]] = "stablehlo.reshape"(%[[P]]) : (tensor<2x6xf32>) -> tensor<12xf32>
  // CHECK-NEXT: %[[S:.*]] = "stablehlo.reduce_scatter"(%[[FLAT]])
  // CHECK: %[[V:.*]] = "stablehlo.slice"(%[[S]]) <{limit_indices = array<i64: 4>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<6xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[W:.*]] = "stablehlo.reshape"(%[[V]]) : (tensor<4xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: "func.return"(%[[W]])
  func.func @scatter(%a: tensor<3x2xbf16>, %b: tensor<4xbf16>) -> tensor<2x2xf32> {
    %p = commsched.chunk_cat %a, %b on @g : tensor<3x2xbf16>, tensor<4xbf16> -> tensor<12xf32>
    %f = commsched.reduce_scatter %p on @g reduction(sum) dim(0) : tensor<12xf32> -> !commsched.future<tensor<6xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<6xf32>>
    %v = tensor.extract_slice %w[0] [4] [1] : tensor<6xf32> to tensor<4xf32>
    %e = tensor.expand_shape %v [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    return %e : tensor<2x2xf32>
  }

  // What has nothing to do with a bucket stays.

  // CHECK-LABEL: sym_name = "reduce"
  // CHECK: ^bb0(%[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<4xf16>):
  // CHECK-NEXT: %[[SUM:.*]] = "stablehlo.add"(%[[A]], %[[A]]) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %[[A1:.*]] = "stablehlo.reshape"(%[[SUM]]) : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK-NEXT: %[[B1:.*]] = "stablehlo.convert"(%[[B]]) : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK-NEXT: %[[P:.*]] = "stablehlo.concatenate"(%[[A1]], %[[B1]]) <{dimension = 0 : i64}>
  // CHECK-NEXT: %[[R:.*]] = "stablehlo.all_reduce"(%[[P]])
  // CHECK: %[[OTHER:.*]] = "arith.mulf"(%[[B]], %[[B]])
  // CHECK-NEXT: "func.return"(%[[R]], %[[OTHER]])
  func.func @reduce(%a: tensor<2x3xf32>, %b: tensor<4xf16>) -> (tensor<10xf32>, tensor<4xf16>) {
    %e = tensor.empty() : tensor<2x3xf32>
    %sum = linalg.add ins(%a, %a : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
    %flat = tensor.collapse_shape %sum [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
    %wide = arith.extf %b : tensor<4xf16> to tensor<4xf32>
    %p = tensor.concat dim(0) %flat, %wide : (tensor<6xf32>, tensor<4xf32>) -> tensor<10xf32>
    %f = commsched.all_reduce %p on @g reduction(sum) : tensor<10xf32> -> !commsched.future<tensor<10xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<10xf32>>
    %other = arith.mulf %b, %b : tensor<4xf16>
    return %w, %other : tensor<10xf32>, tensor<4xf16>
  }
}
