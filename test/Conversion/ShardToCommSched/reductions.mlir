// RUN: commsched-opt %s --convert-shard-to-commsched | FileCheck %s

shard.grid @grid(shape = 2x4)

// CHECK-LABEL: func.func @all_reduce(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xf32>
//       CHECK:   %[[F:.*]] = commsched.all_reduce %[[X]] on @grid_axes_1
//  CHECK-SAME:     reduction(sum)
//  CHECK-SAME:     : tensor<2x8xf32> -> !commsched.future<tensor<2x8xf32>>
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @all_reduce(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = shard.all_reduce %x on @grid grid_axes = [1]
      : tensor<2x8xf32> -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @kinds(
//       CHECK:   reduction(sum)
//       CHECK:   reduction(prod)
//       CHECK:   reduction(min)
//       CHECK:   reduction(max)
//       CHECK:   reduction(avg)
//       CHECK:   reduction(band)
//       CHECK:   reduction(bor)
//       CHECK:   reduction(bxor)
func.func @kinds(%f: tensor<f32>, %i: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  %0 = shard.all_reduce %f on @grid grid_axes = [0] reduction = sum
      : tensor<f32> -> tensor<f32>
  %1 = shard.all_reduce %0 on @grid grid_axes = [0] reduction = product
      : tensor<f32> -> tensor<f32>
  %2 = shard.all_reduce %1 on @grid grid_axes = [0] reduction = min
      : tensor<f32> -> tensor<f32>
  %3 = shard.all_reduce %2 on @grid grid_axes = [0] reduction = max
      : tensor<f32> -> tensor<f32>
  %4 = shard.all_reduce %3 on @grid grid_axes = [0] reduction = average
      : tensor<f32> -> tensor<f32>
  %5 = shard.all_reduce %i on @grid grid_axes = [0] reduction = bitwise_and
      : tensor<i32> -> tensor<i32>
  %6 = shard.all_reduce %5 on @grid grid_axes = [0] reduction = bitwise_or
      : tensor<i32> -> tensor<i32>
  %7 = shard.all_reduce %6 on @grid grid_axes = [0] reduction = bitwise_xor
      : tensor<i32> -> tensor<i32>
  return %4, %7 : tensor<f32>, tensor<i32>
}

// The root's result, on all.

// CHECK-LABEL: func.func @reduce(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xf32>
//       CHECK:   %[[F:.*]] = commsched.all_reduce %[[X]] on @grid_axes_1_0
//  CHECK-SAME:     reduction(max)
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @reduce(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = shard.reduce %x on @grid grid_axes = [1, 0] reduction = max root = [2, 1]
      : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @reduce_scatter(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xf32>
//       CHECK:   %[[WIDE:.*]] = arith.extf %[[X]] : tensor<2x8xf32> to tensor<2x8xf64>
//       CHECK:   %[[F:.*]] = commsched.reduce_scatter %[[WIDE]] on @grid_axes_1
//  CHECK-SAME:     reduction(sum) dim(1)
//  CHECK-SAME:     : tensor<2x8xf64> -> !commsched.future<tensor<2x2xf64>>
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @reduce_scatter(%x: tensor<2x8xf32>) -> tensor<2x2xf64> {
  %0 = shard.reduce_scatter %x on @grid grid_axes = [1] scatter_axis = 1
      : tensor<2x8xf32> -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// Elements are in the result's type when they are added up.

// CHECK-LABEL: func.func @casts(
//       CHECK:   %[[A:.*]] = arith.truncf %{{.*}} : tensor<2xf32> to tensor<2xbf16>
//       CHECK:   commsched.all_reduce %[[A]]
//       CHECK:   %[[W:.*]] = arith.extf %{{.*}} : tensor<2xbf16> to tensor<2xf32>
//       CHECK:   %[[B:.*]] = arith.truncf %[[W]] : tensor<2xf32> to tensor<2xf16>
//       CHECK:   commsched.all_reduce %[[B]]
//       CHECK:   %[[C:.*]] = arith.fptosi %{{.*}} : tensor<2xf16> to tensor<2xi16>
//       CHECK:   commsched.all_reduce %[[C]]
//       CHECK:   %[[D:.*]] = arith.extsi %{{.*}} : tensor<2xi16> to tensor<2xi32>
//       CHECK:   commsched.all_reduce %[[D]]
//       CHECK:   %[[E:.*]] = arith.trunci %{{.*}} : tensor<2xi32> to tensor<2xi8>
//       CHECK:   commsched.all_reduce %[[E]]
//       CHECK:   %[[F:.*]] = arith.sitofp %{{.*}} : tensor<2xi8> to tensor<2xf32>
//       CHECK:   commsched.all_reduce %[[F]]
func.func @casts(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.all_reduce %x on @grid grid_axes = [1]
      : tensor<2xf32> -> tensor<2xbf16>
  %1 = shard.all_reduce %0 on @grid grid_axes = [1]
      : tensor<2xbf16> -> tensor<2xf16>
  %2 = shard.all_reduce %1 on @grid grid_axes = [1]
      : tensor<2xf16> -> tensor<2xi16>
  %3 = shard.all_reduce %2 on @grid grid_axes = [1]
      : tensor<2xi16> -> tensor<2xi32>
  %4 = shard.all_reduce %3 on @grid grid_axes = [1]
      : tensor<2xi32> -> tensor<2xi8>
  %5 = shard.all_reduce %4 on @grid grid_axes = [1]
      : tensor<2xi8> -> tensor<2xf32>
  return %5 : tensor<2xf32>
}

// True is 1, not -1.

// CHECK-LABEL: func.func @truth_values(
//       CHECK:   arith.extui %{{.*}} : tensor<2xi1> to tensor<2xi32>
//       CHECK:   arith.uitofp %{{.*}} : tensor<2xi1> to tensor<2xf32>
func.func @truth_values(%x: tensor<2xi1>) -> (tensor<2xi32>, tensor<2xf32>) {
  %0 = shard.all_reduce %x on @grid grid_axes = [1]
      : tensor<2xi1> -> tensor<2xi32>
  %1 = shard.all_reduce %x on @grid grid_axes = [1]
      : tensor<2xi1> -> tensor<2xf32>
  return %0, %1 : tensor<2xi32>, tensor<2xf32>
}

// Alone, a device still converts.

// CHECK-LABEL: func.func @alone(
//  CHECK-SAME:   %[[X:.*]]: tensor<2xf32>
//  CHECK-NEXT:   %[[WIDE:.*]] = arith.extf %[[X]] : tensor<2xf32> to tensor<2xf64>
//  CHECK-NEXT:   return %[[X]], %[[X]], %[[WIDE]]
func.func @alone(%x: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf64>) {
  %0 = shard.all_reduce %x on @grid : tensor<2xf32> -> tensor<2xf32>
  %1 = shard.reduce %x on @grid root = [] : (tensor<2xf32>) -> tensor<2xf32>
  %2 = shard.reduce_scatter %x on @grid scatter_axis = 0
      : tensor<2xf32> -> tensor<2xf64>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf64>
}
