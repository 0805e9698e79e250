// RUN: commsched-opt %s -split-input-file \
// RUN:   --convert-stablehlo-to-commsched=ranks-per-node=2 | FileCheck %s

// Replica r of partition p is rank 3 r + p. Nodes have two ranks, or one of a group.

// CHECK: commsched.group @replica_groups_0 size(2) ranks_per_node(1) ranks(dense<{{\[\[}}0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>)
// CHECK-SAME: {stablehlo.group = {replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>}}
module attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 2 : i32} {
func.func @cross_replica(%x: tensor<8xf32>) -> tensor<16xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

// -----

// CHECK: commsched.group @replica_groups_0 size(3) ranks_per_node(2) ranks(dense<{{\[\[}}2, 1, 0], [5, 4, 3]]> : tensor<2x3xi64>)
module attributes {mhlo.num_partitions = 3 : i32, mhlo.num_replicas = 2 : i32} {
func.func @cross_partition(%x: tensor<9xf32>) -> tensor<9xf32> {
  %0 = "stablehlo.all_to_all"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[2, 1, 0]]> : tensor<1x3xi64>, split_count = 3 : i64, split_dimension = 0 : i64}> : (tensor<9xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
}
