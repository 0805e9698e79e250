// Copies of buckets, and the operations of other dialects that merging creates.
// python/tests/test_stablehlo_out.py runs merged collectives and compares results.

// RUN: %rows %s | commsched-opt --convert-commsched-to-stablehlo --mlir-print-local-scope | %orders \
// RUN:   | FileCheck %s --implicit-check-not=commsched --implicit-check-not=tensor.empty

module attributes {mhlo.num_replicas = 2 : i32} {
  commsched.group @g size(2)

  // CHECK-LABEL: func.func @gather(
  // CHECK-NEXT: // order: stablehlo.reshape stablehlo.convert stablehlo.convert stablehlo.concatenate stablehlo.all_gather stablehlo.reshape stablehlo.slice stablehlo.reshape stablehlo.slice stablehlo.reshape stablehlo.transpose stablehlo.reshape{{$}}
  // CHECK: limit_indices = array<i64: 2, 6>, start_indices = array<i64: 0, 0>,
  // CHECK: limit_indices = array<i64: 2, 10>, start_indices = array<i64: 0, 6>,
  // CHECK: permutation = array<i64: 1, 0, 2>
  func.func @gather(%a: tensor<2x3xf32>, %b: tensor<4xf32>) -> (tensor<4x3xbf16>, tensor<8xbf16>) {
    %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g : tensor<2x3xf32>, tensor<4xf32> -> tensor<10xbf16>, tensor<20xbf16>
    $run(%w = all_gather %slice on @g dim(0) into %buffer : tensor<10xbf16> into tensor<20xbf16> -> tensor<20xbf16>)
    %full:2 = commsched.split_with_sizes_copy %w on @g : tensor<20xbf16> -> tensor<4x3xbf16>, tensor<2x2x2xbf16>
    %e = tensor.empty() : tensor<2x2x2xbf16>
    %t = linalg.transpose ins(%full#1 : tensor<2x2x2xbf16>) outs(%e : tensor<2x2x2xbf16>) permutation = [1, 0, 2]
    %v = tensor.collapse_shape %t [[0, 1, 2]] : tensor<2x2x2xbf16> into tensor<8xbf16>
    return %full#0, %v : tensor<4x3xbf16>, tensor<8xbf16>
  }

  // CHECK-LABEL: func.func @bytes(
  // CHECK-NEXT: // order: stablehlo.bitcast_convert stablehlo.reshape stablehlo.convert stablehlo.concatenate stablehlo.all_gather stablehlo.reshape stablehlo.slice stablehlo.reshape stablehlo.bitcast_convert stablehlo.reshape stablehlo.slice stablehlo.convert stablehlo.reshape{{$}}
  func.func @bytes(%a: tensor<3xf32>, %b: tensor<2xi1>) -> (tensor<6xf32>, tensor<4xi1>) {
    %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g packed([f32, i1]) : tensor<3xf32>, tensor<2xi1> -> tensor<14xi8>, tensor<28xi8>
    $run(%w = all_gather %slice on @g dim(0) into %buffer : tensor<14xi8> into tensor<28xi8> -> tensor<28xi8>)
    %full:2 = commsched.split_with_sizes_copy %w on @g : tensor<28xi8> -> tensor<6xf32>, tensor<4xi1>
    return %full#0, %full#1 : tensor<6xf32>, tensor<4xi1>
  }

  // CHECK-LABEL: func.func @scatter(
  // CHECK-NEXT: // order: stablehlo.convert stablehlo.constant stablehlo.pad stablehlo.reshape stablehlo.convert stablehlo.reshape stablehlo.concatenate stablehlo.reshape stablehlo.reduce_scatter { {{.*}} stablehlo.slice stablehlo.reshape{{$}}
  // CHECK: %[[ZERO:.*]] = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}>
  // CHECK: "stablehlo.pad"(%{{.*}}, %[[ZERO]]) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, 0>,
  // CHECK: "stablehlo.concatenate"({{.*}}) <{dimension = 1 : i64}>
  func.func @scatter(%a: tensor<3x2xbf16>, %b: tensor<4xbf16>) -> tensor<2x2xf32> {
    %p = commsched.chunk_cat %a, %b on @g : tensor<3x2xbf16>, tensor<4xbf16> -> tensor<12xf32>
    $run(%w = reduce_scatter %p on @g reduction(sum) dim(0) : tensor<12xf32> -> tensor<6xf32>)
    %v = tensor.extract_slice %w[0] [4] [1] : tensor<6xf32> to tensor<4xf32>
    %e = tensor.expand_shape %v [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
    return %e : tensor<2x2xf32>
  }

  // What has nothing to do with a bucket stays.

  // CHECK-LABEL: func.func @reduce(
  // CHECK-NEXT: // order: stablehlo.add stablehlo.reshape stablehlo.convert stablehlo.concatenate stablehlo.all_reduce { {{.*}} arith.mulf{{$}}
  func.func @reduce(%a: tensor<2x3xf32>, %b: tensor<4xf16>) -> (tensor<10xf32>, tensor<4xf16>) {
    %e = tensor.empty() : tensor<2x3xf32>
    %sum = linalg.add ins(%a, %a : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
    %flat = tensor.collapse_shape %sum [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
    %wide = arith.extf %b : tensor<4xf16> to tensor<4xf32>
    %p = tensor.concat dim(0) %flat, %wide : (tensor<6xf32>, tensor<4xf32>) -> tensor<10xf32>
    $run(%w = all_reduce %p on @g reduction(sum) : tensor<10xf32> -> tensor<10xf32>)
    %other = arith.mulf %b, %b : tensor<4xf16>
    return %w, %other : tensor<10xf32>, tensor<4xf16>
  }
}
