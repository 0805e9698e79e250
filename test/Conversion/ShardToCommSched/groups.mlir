// RUN: commsched-opt %s -split-input-file --convert-shard-to-commsched \
// RUN:   | FileCheck %s
// RUN: commsched-opt %s -split-input-file \
// RUN:   --convert-shard-to-commsched=ranks-per-node=4 \
// RUN:   | FileCheck %s --check-prefix=FOUR

// Which ranks a grid's axes bring together. Lists of ranks are written out by
// hand; membership.test compares many more grids with brute force.

// Every use of an axis is of one group. The grid goes.

//      CHECK-NOT: shard.grid
//          CHECK: commsched.group @line_axes_0 size(4){{$}}
//      CHECK-NOT: commsched.group
//      CHECK-NOT: shard.grid
//          FOUR: commsched.group @line_axes_0 size(4){{$}}
shard.grid @line(shape = 4)

// CHECK-LABEL: func.func @first(
// CHECK: commsched.all_reduce %{{.*}} on @line_axes_0
func.func @first(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = shard.all_reduce %x on @line grid_axes = [0]
      : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @second(
// CHECK: commsched.all_gather %{{.*}} on @line_axes_0
func.func @second(%x: tensor<8xf32>) -> tensor<32xf32> {
  %0 = shard.all_gather %x on @line grid_axes = [0] gather_axis = 0
      : tensor<8xf32> -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// The last axis is consecutive, the first strided, both in order are all
// ranks, and both out of order go down the columns of
//
//   0 1 2
//   3 4 5
//
// Groups come in the order of their first use. A node of 8 holds all of them,
// one of 4 the ranks 0 to 3.

//      CHECK: commsched.group @plane_axes_1 size(3){{$}}
// CHECK-NEXT: commsched.group @plane_axes_0 size(2) stride(3){{$}}
// CHECK-NEXT: commsched.group @plane_axes_0_1 size(6){{$}}
// CHECK-NEXT: commsched.group @plane_axes_1_0 size(6)
// CHECK-SAME{LITERAL}: ranks(dense<[[0, 3, 1, 4, 2, 5]]> : tensor<1x6xi64>)
//      FOUR: commsched.group @plane_axes_1 size(3){{$}}
// FOUR-NEXT: commsched.group @plane_axes_0 size(2) stride(3){{$}}
// FOUR-NEXT: commsched.group @plane_axes_0_1 size(6) ranks_per_node(4){{$}}
// FOUR-NEXT: commsched.group @plane_axes_1_0 size(6) ranks_per_node(4) ranks(
shard.grid @plane(shape = 2x3)

func.func @use_plane(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = shard.all_reduce %x on @plane grid_axes = [1]
      : tensor<8xf32> -> tensor<8xf32>
  %1 = shard.all_reduce %0 on @plane grid_axes = [0]
      : tensor<8xf32> -> tensor<8xf32>
  %2 = shard.all_reduce %1 on @plane grid_axes = [0, 1]
      : tensor<8xf32> -> tensor<8xf32>
  %3 = shard.all_reduce %2 on @plane grid_axes = [1, 0]
      : tensor<8xf32> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// Device (i, j, k) is rank 12 i + 4 j + k. Axes 0 and 1 step over what axis 2
// spans. Axes 0 and 2 leave gaps: (i, k) at j = 0, 1, 2. Of a stride of 4, two
// ranks are on a node of 8, one is on a node of 4; of a stride of 12, only one
// in any case.

//      CHECK: commsched.group @space_axes_0 size(2) ranks_per_node(1) stride(12){{$}}
// CHECK-NEXT: commsched.group @space_axes_1 size(3) ranks_per_node(2) stride(4){{$}}
// CHECK-NEXT: commsched.group @space_axes_0_1 size(6) ranks_per_node(2) stride(4){{$}}
// CHECK-NEXT: commsched.group @space_axes_1_2 size(12){{$}}
// CHECK-NEXT: commsched.group @space_axes_0_2 size(8) ranks_per_node(4)
// CHECK-SAME{LITERAL}: ranks(dense<[[0, 1, 2, 3, 12, 13, 14, 15], [4, 5, 6, 7, 16, 17, 18, 19], [8, 9, 10, 11, 20, 21, 22, 23]]> : tensor<3x8xi64>)
// CHECK-NEXT: commsched.group @space_axes_2_1 size(12) ranks(
//      FOUR: commsched.group @space_axes_0 size(2) ranks_per_node(1) stride(12){{$}}
// FOUR-NEXT: commsched.group @space_axes_1 size(3) ranks_per_node(1) stride(4){{$}}
// FOUR-NEXT: commsched.group @space_axes_0_1 size(6) ranks_per_node(1) stride(4){{$}}
// FOUR-NEXT: commsched.group @space_axes_1_2 size(12) ranks_per_node(4){{$}}
shard.grid @space(shape = 2x3x4)

func.func @use_space(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = shard.all_reduce %x on @space grid_axes = [0]
      : tensor<8xf32> -> tensor<8xf32>
  %1 = shard.all_reduce %0 on @space grid_axes = [1]
      : tensor<8xf32> -> tensor<8xf32>
  %2 = shard.all_reduce %1 on @space grid_axes = [0, 1]
      : tensor<8xf32> -> tensor<8xf32>
  %3 = shard.all_reduce %2 on @space grid_axes = [1, 2]
      : tensor<8xf32> -> tensor<8xf32>
  %4 = shard.all_reduce %3 on @space grid_axes = [0, 2]
      : tensor<8xf32> -> tensor<8xf32>
  %5 = shard.all_reduce %4 on @space grid_axes = [2, 1]
      : tensor<8xf32> -> tensor<8xf32>
  return %5 : tensor<8xf32>
}

// -----

// Axes of size 1 do not get in the way of a stride, wherever they are listed.

// CHECK: commsched.group @thin_axes_1_0_2 size(6){{$}}
shard.grid @thin(shape = 2x1x3)

func.func @use_thin(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = shard.all_reduce %x on @thin grid_axes = [1, 0, 2]
      : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// No name is taken from another symbol.

// CHECK: commsched.group @grid_axes_0_0 size(2)
// CHECK: func.func private @grid_axes_0()
// CHECK: commsched.all_reduce %{{.*}} on @grid_axes_0_0
shard.grid @grid(shape = 2)

func.func private @grid_axes_0()

func.func @taken(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = shard.all_reduce %x on @grid grid_axes = [0]
      : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Each module has its own grids, and its own groups.

// CHECK: module @inner
// CHECK-NEXT: commsched.group @grid_axes_0 size(2)
// CHECK: module @other
// CHECK-NEXT: commsched.group @grid_axes_0 size(3)
module @inner {
  shard.grid @grid(shape = 2)

  func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = shard.all_reduce %x on @grid grid_axes = [0]
        : tensor<8xf32> -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

module @other {
  shard.grid @grid(shape = 3)

  func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = shard.all_reduce %x on @grid grid_axes = [0]
        : tensor<8xf32> -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A grid with other references stays.

// CHECK: shard.grid @kept
shard.grid @kept(shape = 2)

func.func @f() attributes {other.grid = @kept} {
  return
}
