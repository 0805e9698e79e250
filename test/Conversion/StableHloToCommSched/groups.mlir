// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched \
// RUN:   | FileCheck %s
// RUN: commsched-opt %s -split-input-file \
// RUN:   --convert-stablehlo-to-commsched=ranks-per-node=2 \
// RUN:   | FileCheck %s --check-prefix=TWO

// Replica r of partition p is rank 3 r + p.

// CHECK: commsched.group @replica_groups_0 size(2) ranks(dense<{{\[\[}}0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>)
// CHECK-SAME: {stablehlo.group = {replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>}}
// TWO: commsched.group @replica_groups_0 size(2) ranks_per_node(1)
module attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 2 : i32} {
func.func @cross_replica(%x: tensor<8xf32>) -> tensor<16xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

// -----

// CHECK: commsched.group @replica_groups_0 size(3) ranks(dense<{{\[\[}}2, 1, 0], [5, 4, 3]]> : tensor<2x3xi64>)
// TWO: commsched.group @replica_groups_0 size(3) ranks_per_node(2)
module attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 2 : i32} {
func.func @cross_partition(%x: tensor<9xf32>) -> tensor<9xf32> {
  %0 = "stablehlo.all_to_all"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[2, 1, 0]]> : tensor<1x3xi64>, split_count = 3 : i64, split_dimension = 0 : i64}> : (tensor<9xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
}

// -----

// A channel without global ids: the groups are of whole replicas.

// CHECK: commsched.group @replica_groups_0 size(6) ranks(dense<{{\[\[}}0, 3, 1, 4, 2, 5]]> : tensor<1x6xi64>)
// The same numbers are other devices.
// CHECK-NEXT: commsched.group @replica_groups_1 size(2) ranks(dense<{{\[\[}}0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>)
module attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 2 : i32} {
func.func @whole_replicas(%x: tensor<1xf32>) -> (tensor<6xf32>, tensor<2xf32>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1xf32>) -> tensor<6xf32>
  %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<6xf32>, tensor<2xf32>
}
}

// -----

// One communicator, although an all_to_all has no `use_global_device_ids`; that
// of the all_gather is kept for merged collectives.

// CHECK: commsched.group @replica_groups_0 size(2) ranks(dense<{{\[\[}}0, 2], [1, 3]]> : tensor<2x2xi64>)
// CHECK-SAME: {stablehlo.group = {channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<{{\[\[}}0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}}
// CHECK-NOT: commsched.group
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
func.func @flattened(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
  %0 = "stablehlo.all_to_all"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<2xf32>, tensor<4xf32>
}
}

// -----

// Without a number of devices, there are as many as the permutes name. Symbols
// of the program are not taken.

// CHECK: commsched.group @all_devices_0 size(6) ranks(
// CHECK-COUNT-2: on @all_devices_0
func.func private @all_devices()
func.func @permutes(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 3]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[5, 2]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
