// RUN: commsched-opt %s -split-input-file --convert-shard-to-commsched | FileCheck %s
// RUN: %fails commsched-opt %s -split-input-file --convert-shard-to-commsched=ranks-per-node=0 "error: the option 'ranks-per-node' is 0, and a node has at least one rank"

// Names and order of groups. group-members.test compares which ranks belong to
// them with brute force.

// Every use of an axis is of one group. Groups come in the order of their first
// use, and the grid goes.

//  CHECK-NOT: shard.grid
//      CHECK: commsched.group @plane_axes_1 size(3){{$}}
// CHECK-NEXT: commsched.group @plane_axes_0 size(2) stride(3){{$}}
// CHECK-NEXT: commsched.group @plane_axes_1_0 size(6)
// CHECK-SAME{LITERAL}: ranks(dense<[[0, 3, 1, 4, 2, 5]]> : tensor<1x6xi64>)
//  CHECK-NOT: commsched.group
//  CHECK-NOT: shard.grid
shard.grid @plane(shape = 2x3)

// CHECK: commsched.all_reduce %{{.*}} on @plane_axes_1 reduction
// CHECK: commsched.all_reduce %{{.*}} on @plane_axes_0 reduction
// CHECK: commsched.all_reduce %{{.*}} on @plane_axes_1_0 reduction
// CHECK: commsched.all_reduce %{{.*}} on @plane_axes_1 reduction
func.func @use_plane(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = shard.all_reduce %x on @plane grid_axes = [1] : tensor<8xf32> -> tensor<8xf32>
  %1 = shard.all_reduce %0 on @plane grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  %2 = shard.all_reduce %1 on @plane grid_axes = [1, 0] : tensor<8xf32> -> tensor<8xf32>
  %3 = shard.all_reduce %2 on @plane grid_axes = [1] : tensor<8xf32> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// No name is taken from another symbol.

// CHECK: commsched.group @grid_axes_0_0 size(2)
// CHECK: func.func private @grid_axes_0()
// CHECK: commsched.all_reduce %{{.*}} on @grid_axes_0_0
shard.grid @grid(shape = 2)

func.func private @grid_axes_0()

func.func @taken(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
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
    %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

module @other {
  shard.grid @grid(shape = 3)
  func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A grid with other references stays, and so does a layout that is returned with
// the grid that it names. What nothing uses goes.

// CHECK: shard.grid @kept
// CHECK: shard.grid @returned
// CHECK-NOT: shard.grid
// CHECK: %[[S:.*]] = shard.sharding @returned
// CHECK-NOT: = shard.sharding
// CHECK: return %{{.*}}, %[[S]]
shard.grid @kept(shape = 2)
shard.grid @returned(shape = 2)
shard.grid @unused(shape = 2)

func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32>, !shard.sharding)
    attributes {other.grid = @kept} {
  %s = shard.sharding @returned split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @unused split_axes = [[0]] : !shard.sharding
  %0 = shard.all_reduce %x on @returned grid_axes = [0] : tensor<8xf32> -> tensor<8xf32>
  return %0, %s : tensor<8xf32>, !shard.sharding
}
