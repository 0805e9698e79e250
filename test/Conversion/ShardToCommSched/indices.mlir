// RUN: commsched-opt %s --convert-shard-to-commsched --canonicalize \
// RUN:   | FileCheck %s

shard.grid @grid(shape = 2x3x4)

// CHECK-LABEL: func.func @all_slice(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//   CHECK-DAG:   %[[TWO:.*]] = arith.constant 2 : index
//   CHECK-DAG:   %[[RANK:.*]] = commsched_rt.rank @grid_axes_2 : index
//       CHECK:   %[[OFFSET:.*]] = arith.muli %[[RANK]], %[[TWO]]
//       CHECK:   %[[PART:.*]] = tensor.extract_slice %[[X]][0, %[[OFFSET]]] [2, 2] [1, 1]
//       CHECK:   return %[[PART]]
func.func @all_slice(%x: tensor<2x8xi8>) -> tensor<2x2xi8> {
  %0 = shard.all_slice %x on @grid grid_axes = [2] slice_axis = 1
      : tensor<2x8xi8> -> tensor<2x2xi8>
  return %0 : tensor<2x2xi8>
}

// CHECK-LABEL: func.func @all_slice_alone(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//  CHECK-NEXT:   return %[[X]]
func.func @all_slice_alone(%x: tensor<2x8xi8>) -> tensor<2x8xi8> {
  %0 = shard.all_slice %x on @grid slice_axis = 1
      : tensor<2x8xi8> -> tensor<2x8xi8>
  return %0 : tensor<2x8xi8>
}

// CHECK-LABEL: func.func @linear_index(
//       CHECK:   %[[RANK:.*]] = commsched_rt.rank @grid_axes_0_1_2 : index
//       CHECK:   return %[[RANK]]
func.func @linear_index() -> index {
  %0 = shard.process_linear_index on @grid : index
  return %0 : index
}

// 12 i + 4 j + k

// CHECK-LABEL: func.func @multi_index(
//   CHECK-DAG:   %[[C12:.*]] = arith.constant 12 : index
//   CHECK-DAG:   %[[C4:.*]] = arith.constant 4 : index
//   CHECK-DAG:   %[[C3:.*]] = arith.constant 3 : index
//   CHECK-DAG:   %[[RANK:.*]] = commsched_rt.rank @grid_axes_0_1_2 : index
//   CHECK-DAG:   %[[I:.*]] = arith.divui %[[RANK]], %[[C12]]
//   CHECK-DAG:   %[[ROW:.*]] = arith.divui %[[RANK]], %[[C4]]
//   CHECK-DAG:   %[[J:.*]] = arith.remui %[[ROW]], %[[C3]]
//   CHECK-DAG:   %[[K:.*]] = arith.remui %[[RANK]], %[[C4]]
//       CHECK:   return %[[I]], %[[J]], %[[K]]
func.func @multi_index() -> (index, index, index) {
  %0:3 = shard.process_multi_index on @grid : index, index, index
  return %0#0, %0#1, %0#2 : index, index, index
}

// In the order in which the axes are listed: 2 k + i.

// CHECK-LABEL: func.func @multi_index_along_axes(
//   CHECK-DAG:   %[[C2:.*]] = arith.constant 2 : index
//   CHECK-DAG:   %[[RANK:.*]] = commsched_rt.rank @grid_axes_2_0 : index
//   CHECK-DAG:   %[[K:.*]] = arith.divui %[[RANK]], %[[C2]]
//   CHECK-DAG:   %[[I:.*]] = arith.remui %[[RANK]], %[[C2]]
//       CHECK:   return %[[K]], %[[I]]
func.func @multi_index_along_axes() -> (index, index) {
  %0:2 = shard.process_multi_index on @grid axes = [2, 0] : index, index
  return %0#0, %0#1 : index, index
}

// CHECK-LABEL: func.func @grid_shape(
//   CHECK-DAG:   %[[C2:.*]] = arith.constant 2 : index
//   CHECK-DAG:   %[[C3:.*]] = arith.constant 3 : index
//   CHECK-DAG:   %[[C4:.*]] = arith.constant 4 : index
//       CHECK:   return %[[C2]], %[[C3]], %[[C4]], %[[C4]], %[[C2]]
func.func @grid_shape() -> (index, index, index, index, index) {
  %0:3 = shard.grid_shape @grid : index, index, index
  %1:2 = shard.grid_shape @grid axes = [2, 0] : index, index
  return %0#0, %0#1, %0#2, %1#0, %1#1 : index, index, index, index, index
}

// On constants it folds: (1, 1, 2) is 12 + 4 + 2, its neighbours along axis 1
// are 4 less and more; (0, 2, 3) is 11, at the end of axis 1.

// CHECK-LABEL: func.func @neighbours(
//   CHECK-DAG:   %[[C14:.*]] = arith.constant 14 : index
//   CHECK-DAG:   %[[C22:.*]] = arith.constant 22 : index
//   CHECK-DAG:   %[[C7:.*]] = arith.constant 7 : index
//   CHECK-DAG:   %[[NONE:.*]] = arith.constant -1 : index
//       CHECK:   return %[[C14]], %[[C22]], %[[C7]], %[[NONE]], %[[NONE]]
func.func @neighbours() -> (index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0:2 = shard.neighbors_linear_indices on @grid[%c1, %c1, %c2]
      split_axes = [1] : index, index
  %1:2 = shard.neighbors_linear_indices on @grid[%c0, %c2, %c3]
      split_axes = [1] : index, index
  %2:2 = shard.neighbors_linear_indices on @grid[%c0, %c2, %c3]
      split_axes = [0] : index, index
  return %0#0, %0#1, %1#0, %1#1, %2#0 : index, index, index, index, index
}
