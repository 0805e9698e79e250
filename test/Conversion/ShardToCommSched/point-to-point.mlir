// RUN: commsched-opt %s --convert-shard-to-commsched | FileCheck %s

shard.grid @grid(shape = 2x4)

// CHECK-LABEL: func.func @send(
//  CHECK-SAME:   %[[X:.*]]: tensor<2xf32>
//       CHECK:   %[[F:.*]] = commsched.send %[[X]] on @grid_axes_0_1 to(6)
//  CHECK-NEXT:   commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[X]]
func.func @send(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.send %x on @grid grid_axes = [0, 1] destination = [1, 2]
      : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @recv(
//       CHECK:   %[[F:.*]] = commsched.recv on @grid_axes_0_1 from(1)
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @recv(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.recv %x on @grid grid_axes = [0, 1] source = [0, 1]
      : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Index i sends to i + 1.

// CHECK-LABEL: func.func @shift(
//  CHECK-SAME:   %[[X:.*]]: tensor<2xf32>
//       CHECK:   %[[F:.*]] = commsched.permute %[[X]] on @grid_axes_1 pairs
// CHECK-SAME{LITERAL}: (dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>)
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @shift(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.shift %x on @grid grid_axes = [1] shift_axis = 1 offset = 1
      : tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @shift_back(
// CHECK{LITERAL}: (dense<[[3, 0]]> : tensor<1x2xi64>)
func.func @shift_back(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.shift %x on @grid grid_axes = [1] shift_axis = 1 offset = -3
      : tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @rotate(
// CHECK{LITERAL}: (dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>)
// CHECK{LITERAL}: (dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>)
func.func @rotate(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.shift %x on @grid grid_axes = [1] shift_axis = 1 offset = 5 rotate
      : tensor<2xf32> -> tensor<2xf32>
  %1 = shard.shift %0 on @grid grid_axes = [1] shift_axis = 1 offset = -9 rotate
      : tensor<2xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// The group has both axes, and one of them is shifted along: ranks 0 to 3 are
// at 0 along axis 0, in the first order; in the second, even ones are.

// CHECK-LABEL: func.func @shift_along_one_of_two(
// CHECK: on @grid_axes_0_1
// CHECK-SAME{LITERAL}: (dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>)
// CHECK: on @grid_axes_1_0
// CHECK-SAME{LITERAL}: (dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>)
// CHECK: on @grid_axes_0_1
// CHECK-SAME{LITERAL}: (dense<[[0, 3], [1, 0], [2, 1], [3, 2], [4, 7], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>)
func.func @shift_along_one_of_two(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.shift %x on @grid grid_axes = [0, 1] shift_axis = 0 offset = 1
      : tensor<2xf32> -> tensor<2xf32>
  %1 = shard.shift %0 on @grid grid_axes = [1, 0] shift_axis = 0 offset = 1
      : tensor<2xf32> -> tensor<2xf32>
  %2 = shard.shift %1 on @grid grid_axes = [0, 1] shift_axis = 1 offset = -1 rotate
      : tensor<2xf32> -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// Nobody sends to anybody else: all stays, or nothing is defined.

// CHECK-LABEL: func.func @no_partner(
//  CHECK-SAME:   %[[X:.*]]: tensor<2xf32>
//  CHECK-NEXT:   return %[[X]]
func.func @no_partner(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = shard.shift %x on @grid grid_axes = [1] shift_axis = 1 offset = 0
      : tensor<2xf32> -> tensor<2xf32>
  %1 = shard.shift %0 on @grid grid_axes = [1] shift_axis = 1 offset = 4
      : tensor<2xf32> -> tensor<2xf32>
  %2 = shard.shift %1 on @grid grid_axes = [1] shift_axis = 1 offset = -8 rotate
      : tensor<2xf32> -> tensor<2xf32>
  %3 = shard.shift %2 on @grid grid_axes = [1] shift_axis = 1
      offset = -9223372036854775808 : tensor<2xf32> -> tensor<2xf32>
  return %3 : tensor<2xf32>
}
