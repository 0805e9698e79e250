// RUN: commsched-opt %s --convert-shard-to-commsched | FileCheck %s

shard.grid @grid(shape = 2x4)

// Of 10 elements the first 2 and the last 1 are halos, 7 are the device's own,
// 2 to 8. The low halo gets the last 2 of these from the neighbour in front,
// the high one the first from the neighbour behind. Devices at the border keep
// what they have.

// CHECK-LABEL: func.func @one_dimension(
//  CHECK-SAME:   %[[X:.*]]: tensor<10x3xf32>
//  CHECK-NEXT:   %[[SENT:.*]] = tensor.extract_slice %[[X]][7, 0] [2, 3] [1, 1]
//  CHECK-NEXT:   %[[F:.*]] = commsched.permute %[[SENT]] on @grid_axes_1 pairs
// CHECK-SAME{LITERAL}: (dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>)
//  CHECK-NEXT:   %[[RECEIVED:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   %[[RANK:.*]] = commsched_rt.rank @grid_axes_1
//  CHECK-NEXT:   %[[FIRST:.*]] = arith.constant 0 : index
//  CHECK-NEXT:   %[[IS_FIRST:.*]] = arith.cmpi eq, %[[RANK]], %[[FIRST]]
//  CHECK-NEXT:   %[[OLD:.*]] = tensor.extract_slice %[[X]][0, 0] [2, 3] [1, 1]
//  CHECK-NEXT:   %[[LOW:.*]] = arith.select %[[IS_FIRST]], %[[OLD]], %[[RECEIVED]]
//  CHECK-NEXT:   %[[Y:.*]] = tensor.insert_slice %[[LOW]] into %[[X]][0, 0] [2, 3] [1, 1]
//  CHECK-NEXT:   %[[SENT:.*]] = tensor.extract_slice %[[Y]][2, 0] [1, 3] [1, 1]
//  CHECK-NEXT:   %[[F:.*]] = commsched.permute %[[SENT]] on @grid_axes_1 pairs
// CHECK-SAME{LITERAL}: (dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>)
//  CHECK-NEXT:   %[[RECEIVED:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   %[[RANK:.*]] = commsched_rt.rank @grid_axes_1
//  CHECK-NEXT:   %[[LAST:.*]] = arith.constant 3 : index
//  CHECK-NEXT:   %[[IS_LAST:.*]] = arith.cmpi eq, %[[RANK]], %[[LAST]]
//  CHECK-NEXT:   %[[OLD:.*]] = tensor.extract_slice %[[Y]][9, 0] [1, 3] [1, 1]
//  CHECK-NEXT:   %[[HIGH:.*]] = arith.select %[[IS_LAST]], %[[OLD]], %[[RECEIVED]]
//  CHECK-NEXT:   %[[Z:.*]] = tensor.insert_slice %[[HIGH]] into %[[Y]][9, 0] [1, 3] [1, 1]
//  CHECK-NEXT:   return %[[Z]]
func.func @one_dimension(%x: tensor<10x3xf32>) -> tensor<10x3xf32> {
  %0 = shard.update_halo %x on @grid split_axes = [[1]] halo_sizes = [2, 1]
      : tensor<10x3xf32>
  return %0 : tensor<10x3xf32>
}

// The last dimension first, without the halos of the first one; these then
// travel with those of the last one, corners included.

// CHECK-LABEL: func.func @two_dimensions(
//       CHECK:   tensor.extract_slice %{{.*}}[2, 7] [7, 1] [1, 1]
//       CHECK:   commsched.permute %{{.*}} on @grid_axes_1
//       CHECK:   tensor.insert_slice %{{.*}}[2, 0] [7, 1] [1, 1]
//       CHECK:   tensor.extract_slice %{{.*}}[2, 1] [7, 2] [1, 1]
//       CHECK:   commsched.permute %{{.*}} on @grid_axes_1
//       CHECK:   tensor.insert_slice %{{.*}}[2, 8] [7, 2] [1, 1]
//       CHECK:   tensor.extract_slice %{{.*}}[7, 0] [2, 10] [1, 1]
//       CHECK:   commsched.permute %{{.*}} on @grid_axes_0
//       CHECK:   tensor.insert_slice %{{.*}}[0, 0] [2, 10] [1, 1]
//       CHECK:   tensor.extract_slice %{{.*}}[2, 0] [1, 10] [1, 1]
//       CHECK:   commsched.permute %{{.*}} on @grid_axes_0
//       CHECK:   tensor.insert_slice %{{.*}}[9, 0] [1, 10] [1, 1]
//   CHECK-NOT:   commsched.permute
//       CHECK:   return
func.func @two_dimensions(%x: tensor<10x10xf32>) -> tensor<10x10xf32> {
  %0 = shard.update_halo %x on @grid split_axes = [[0], [1]]
      halo_sizes = [2, 1, 1, 2] : tensor<10x10xf32>
  return %0 : tensor<10x10xf32>
}

// A dimension may be split along several axes, and others not at all.

// CHECK-LABEL: func.func @two_axes(
//       CHECK:   tensor.extract_slice %{{.*}}[0, 3] [4, 1] [1, 1]
//       CHECK:   commsched.permute %{{.*}} on @grid_axes_0_1 pairs
// CHECK-SAME{LITERAL}: (dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7]]> : tensor<7x2xi64>)
//   CHECK-NOT:   commsched.permute
//       CHECK:   return
func.func @two_axes(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = shard.update_halo %x on @grid split_axes = [[], [0, 1]]
      halo_sizes = [1, 0] : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @nothing_to_send(
//  CHECK-SAME:   %[[X:.*]]: tensor<4xf32>
//  CHECK-NEXT:   return %[[X]], %[[X]]
func.func @nothing_to_send(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = shard.update_halo %x on @grid split_axes = [[0]] halo_sizes = [0, 0]
      : tensor<4xf32>
  %1 = shard.update_halo %x on @grid split_axes = [[]] : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

shard.grid @alone(shape = 1)

// CHECK-LABEL: func.func @no_neighbours(
//  CHECK-SAME:   %[[X:.*]]: tensor<4xf32>
//  CHECK-NEXT:   return %[[X]]
func.func @no_neighbours(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = shard.update_halo %x on @alone split_axes = [[0]] halo_sizes = [1, 1]
      : tensor<4xf32>
  return %0 : tensor<4xf32>
}
