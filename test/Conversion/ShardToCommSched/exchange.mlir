// RUN: commsched-opt %s --convert-shard-to-commsched | FileCheck %s

!t = tensor<2x8xi8>

shard.grid @grid(shape = 2x4)

// CHECK-LABEL: func.func @all_to_all(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//       CHECK:   %[[F:.*]] = commsched.all_to_all %[[X]] on @grid_axes_1
//  CHECK-SAME:     split_dim(1) concat_dim(0)
//  CHECK-SAME:     : tensor<2x8xi8> -> !commsched.future<tensor<8x2xi8>>
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @all_to_all(%x: !t) -> tensor<8x2xi8> {
  %0 = shard.all_to_all %x on @grid grid_axes = [1]
      split_axis = 1 concat_axis = 0 : !t -> tensor<8x2xi8>
  return %0 : tensor<8x2xi8>
}

// CHECK-LABEL: func.func @all_to_all_one_dimension(
//       CHECK:   commsched.all_to_all %{{.*}} on @grid_axes_0
//  CHECK-SAME:     split_dim(1) concat_dim(1)
//  CHECK-SAME:     : tensor<2x8xi8> -> !commsched.future<tensor<2x8xi8>>
func.func @all_to_all_one_dimension(%x: !t) -> !t {
  %0 = shard.all_to_all %x on @grid grid_axes = [0]
      split_axis = 1 concat_axis = 1 : !t -> !t
  return %0 : !t
}

// CHECK-LABEL: func.func @broadcast(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//       CHECK:   %[[F:.*]] = commsched.broadcast %[[X]] on @grid_axes_1 root(3)
//  CHECK-SAME:     : tensor<2x8xi8> -> !commsched.future<tensor<2x8xi8>>
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @broadcast(%x: !t) -> !t {
  %0 = shard.broadcast %x on @grid grid_axes = [1] root = [3] : (!t) -> !t
  return %0 : !t
}

// The root's coordinates are in the order of the axes: 3 along axis 1, then 1
// of 2 along axis 0, is the 7th of the group, counted from 0; in the order of
// the grid, 1 and 2 of 4 is the 6th.

// CHECK-LABEL: func.func @broadcast_from_coordinates(
//       CHECK:   commsched.broadcast %{{.*}} on @grid_axes_1_0 root(7)
//       CHECK:   commsched.broadcast %{{.*}} on @grid_axes_0_1 root(6)
func.func @broadcast_from_coordinates(%x: !t) -> !t {
  %0 = shard.broadcast %x on @grid grid_axes = [1, 0] root = [3, 1] : (!t) -> !t
  %1 = shard.broadcast %0 on @grid grid_axes = [0, 1] root = [1, 2] : (!t) -> !t
  return %1 : !t
}

// Every rank keeps what came from the root: the part 2 of 4.

// CHECK-LABEL: func.func @scatter(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//       CHECK:   %[[F:.*]] = commsched.all_to_all %[[X]] on @grid_axes_1
//  CHECK-SAME:     split_dim(1) concat_dim(1)
//  CHECK-SAME:     : tensor<2x8xi8> -> !commsched.future<tensor<2x8xi8>>
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   %[[PART:.*]] = tensor.extract_slice %[[Y]][0, 4] [2, 2] [1, 1]
//  CHECK-NEXT:   return %[[PART]]
func.func @scatter(%x: !t) -> tensor<2x2xi8> {
  %0 = shard.scatter %x on @grid grid_axes = [1] scatter_axis = 1 root = [2]
      : (!t) -> tensor<2x2xi8>
  return %0 : tensor<2x2xi8>
}

// CHECK-LABEL: func.func @alone(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//  CHECK-NEXT:   return %[[X]], %[[X]], %[[X]]
func.func @alone(%x: !t) -> (!t, !t, !t) {
  %0 = shard.all_to_all %x on @grid split_axis = 0 concat_axis = 1 : !t -> !t
  %1 = shard.broadcast %x on @grid root = [] : (!t) -> !t
  %2 = shard.scatter %x on @grid scatter_axis = 0 root = [] : (!t) -> !t
  return %0, %1, %2 : !t, !t, !t
}
