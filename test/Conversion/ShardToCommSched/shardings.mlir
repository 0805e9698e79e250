// RUN: commsched-opt %s -split-input-file --convert-shard-to-commsched \
// RUN:   | FileCheck %s

// A partitioned program may describe layouts. What is returned stays, with the
// grid that it names; what nothing uses goes.

// CHECK:      shard.grid @grid(shape = 2)
// CHECK-NEXT: commsched.group @grid_axes_0 size(2)
shard.grid @grid(shape = 2)

// CHECK-LABEL: @returned
// CHECK-NEXT:    %[[S:.*]] = shard.sharding @grid
// CHECK-NEXT:    %[[F:.*]] = commsched.all_reduce
// CHECK-NEXT:    %[[W:.*]] = commsched.wait %[[F]]
// CHECK-NEXT:    return %[[W]], %[[S]]
func.func @returned(%x: tensor<8xf32>) -> (tensor<8xf32>, !shard.sharding) {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %0 = shard.all_reduce %x on @grid grid_axes = [0]
      : tensor<8xf32> -> tensor<8xf32>
  return %0, %s : tensor<8xf32>, !shard.sharding
}

// -----

// CHECK-NOT: shard.grid
shard.grid @grid(shape = 2)

// CHECK-LABEL: @unused
// CHECK-NOT:     shard.sharding
// CHECK:         commsched.all_reduce
func.func @unused(%x: tensor<8xf32>) -> tensor<8xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %0 = shard.all_reduce %x on @grid grid_axes = [0]
      : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
