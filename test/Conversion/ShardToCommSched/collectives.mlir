// RUN: commsched-opt %s --convert-shard-to-commsched | FileCheck %s

// What run.test does not see in results: what is annotated, where start and wait
// stand, which casts are made, and what sends nothing.

!t = tensor<8xf32>

shard.grid @grid(shape = 2x4)
shard.grid @one(shape = 1)

// CHECK-LABEL: func.func @annotated(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//       CHECK:   %[[F:.*]] = commsched.all_gather %[[X]] on @grid_axes_1 dim(1)
//  CHECK-SAME:     {commsched.name = "weights", commsched.runtime_ns = 7 : i64}
//  CHECK-SAME:     : tensor<2x8xi8> -> !commsched.future<tensor<2x32xi8>>
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @annotated(%x: tensor<2x8xi8>) -> tensor<2x32xi8> {
  %0 = shard.all_gather %x on @grid grid_axes = [1] gather_axis = 1
      {commsched.name = "weights", commsched.runtime_ns = 7 : i64}
      : tensor<2x8xi8> -> tensor<2x32xi8>
  return %0 : tensor<2x32xi8>
}

// Elements are in the result's type when they are added up. True is 1, not -1.

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
//       CHECK:   arith.extui %{{.*}} : tensor<2xi1> to tensor<2xi32>
//       CHECK:   arith.uitofp %{{.*}} : tensor<2xi1> to tensor<2xf32>
func.func @casts(%x: tensor<2xf32>, %t: tensor<2xi1>)
    -> (tensor<2xi8>, tensor<2xi32>, tensor<2xf32>) {
  %0 = shard.all_reduce %x on @grid grid_axes = [1] : tensor<2xf32> -> tensor<2xbf16>
  %1 = shard.all_reduce %0 on @grid grid_axes = [1] : tensor<2xbf16> -> tensor<2xf16>
  %2 = shard.all_reduce %1 on @grid grid_axes = [1] : tensor<2xf16> -> tensor<2xi16>
  %3 = shard.all_reduce %2 on @grid grid_axes = [1] : tensor<2xi16> -> tensor<2xi32>
  %4 = shard.all_reduce %3 on @grid grid_axes = [1] : tensor<2xi32> -> tensor<2xi8>
  %5 = shard.all_reduce %t on @grid grid_axes = [1] : tensor<2xi1> -> tensor<2xi32>
  %6 = shard.all_reduce %t on @grid grid_axes = [1] : tensor<2xi1> -> tensor<2xf32>
  return %4, %5, %6 : tensor<2xi8>, tensor<2xi32>, tensor<2xf32>
}

// Without axes, every device is a group of its own; it still converts. Nobody
// sends to anybody else if all stays, or if nothing is defined.

// CHECK-LABEL: func.func @alone(
//  CHECK-SAME:   %[[X:.*]]: tensor<8xf32>
//  CHECK-NEXT:   %[[WIDE:.*]] = arith.extf %[[X]] : tensor<8xf32> to tensor<8xf64>
//  CHECK-NEXT:   return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[WIDE]]
func.func @alone(%x: !t) -> (!t, !t, !t, !t, !t, !t, !t, !t, !t, !t, tensor<8xf64>) {
  %0 = shard.all_gather %x on @grid gather_axis = 0 : !t -> !t
  %1 = shard.gather %0 on @grid gather_axis = 0 root = [] : (!t) -> !t
  %2 = shard.all_to_all %x on @grid split_axis = 0 concat_axis = 0 : !t -> !t
  %3 = shard.broadcast %x on @grid root = [] : (!t) -> !t
  %4 = shard.scatter %x on @grid scatter_axis = 0 root = [] : (!t) -> !t
  %5 = shard.all_slice %x on @grid slice_axis = 0 : !t -> !t
  %6 = shard.all_reduce %x on @grid : !t -> !t
  %7 = shard.reduce %x on @grid root = [] : (!t) -> !t
  %8 = shard.update_halo %x on @one split_axes = [[0]] halo_sizes = [1, 1] : !t
  %9 = shard.update_halo %8 on @grid split_axes = [[0]] halo_sizes = [0, 0] : !t
  %10 = shard.update_halo %9 on @grid split_axes = [[]] : !t
  %11 = shard.shift %x on @grid grid_axes = [1] shift_axis = 1 offset = 0 : !t -> !t
  %12 = shard.shift %11 on @grid grid_axes = [1] shift_axis = 1 offset = 4 : !t -> !t
  %13 = shard.shift %12 on @grid grid_axes = [1] shift_axis = 1 offset = -8 rotate : !t -> !t
  %14 = shard.shift %13 on @grid grid_axes = [1] shift_axis = 1
      offset = -9223372036854775808 : !t -> !t
  %15 = shard.reduce_scatter %x on @grid scatter_axis = 0 : !t -> tensor<8xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %10, %14, %15
      : !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, tensor<8xf64>
}
