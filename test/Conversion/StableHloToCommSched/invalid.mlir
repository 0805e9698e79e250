// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched=strict

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
func.func @no_such_device(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' lists the device 4 in group 1, but the module has 4 devices}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 4]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

// -----

ROW

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {
func.func @no_such_replica(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' lists the replica 2 in group 0, but the module has 2 replicas}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
func.func @no_such_partition(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'stablehlo.all_to_all' op 'replica_groups' lists the partition 2 in group 0, but the module has 2 partitions}}
  %0 = "stablehlo.all_to_all"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
func.func @not_all(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' does not list the device 2, but the module has 4 devices}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

func.func @second_rank(%x: tensor<8x8xf32>, %y: tensor<8xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op works along dimension 1, but operand 1 is a 'tensor<8xf32>'}}
  %0:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
func.func @pair_range(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'stablehlo.collective_permute' op names the replica 2, but the module has 2 replicas}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}

// expected-error@+1 {{'builtin.module' op attribute 'mhlo.num_replicas' must be a number from 1 to 2147483647, not 0 : i32}}
module @zero attributes {mhlo.num_replicas = 0 : i32} {
}

// expected-error@+1 {{'builtin.module' op attribute 'mhlo.num_replicas' must be a number from 1 to 2147483647, not "8"}}
module @text attributes {mhlo.num_replicas = "8"} {
}

func.func @row(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op attribute 'scatter_dimension' is -1, which is not in [0, 1), the dimensions of its operand}}
  %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = -1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @row(%x: tensor<8xf32>) -> tensor<24xf32> {
  // expected-error@+1 {{'stablehlo.all_gather' op result 0 is a 'tensor<24xf32>', but a group of 2 devices delivers a 'tensor<16xf32>' for a 'tensor<8xf32>'}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<24xf32>
  return %0 : tensor<24xf32>
}

func.func @row(%x: tensor<7xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op splits 'tensor<7xf32>' along dimension 0 among the devices of a group, of which there are 2}}
  %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<7xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @row(%x: tensor<4611686018427387904xf32>) -> tensor<16xf32> {
  // expected-error@+1 {{'stablehlo.all_gather' op concatenates 'tensor<4611686018427387904xf32>' along dimension 0 for 2 devices, which is too large}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4611686018427387904xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

func.func @row(%x: tensor<8x2xf32>, %o: tensor<8x3xf32>, %l: tensor<2xi32>) -> tensor<8x3xf32> {
  // expected-error@+1 {{'stablehlo.custom_call' op sends rows of a 'tensor<8x2xf32>', which are no rows of a 'tensor<8x3xf32>'}}
  %0 = "stablehlo.custom_call"(%x, %o, %l, %l, %l, %l) <{backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}, call_target_name = "ragged_all_to_all"}> : (tensor<8x2xf32>, tensor<8x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

func.func @row(%x: tensor<8xf32>, %o: tensor<8xf32>, %l: tensor<2xi32>) -> tensor<9xf32> {
  // expected-error@+1 {{'stablehlo.custom_call' op result is a 'tensor<9xf32>', but is written into a 'tensor<8xf32>'}}
  %0 = "stablehlo.custom_call"(%x, %o, %l, %l, %l, %l) <{backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}, call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----

func.func @row(%x: tensor<8xf32>) -> tensor<16xf32> {
  ROW
  return %0 : tensor<16xf32>
}
// -----

// expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' lists the replica 1 in group 0 and again in group 1}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' lists the replica 0 in group 0 and again in group 0}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' lists the replica -2 in group 0, but there are at most 16777216 replicas}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' does not list the replica 1, but lists one with a larger number}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' must be a matrix of i64, not 'tensor<2xi64>'}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' must be a matrix of i64, not 'tensor<1x2xi32>'}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op attribute 'replica_groups' must be a matrix of i64, not "all"}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = "all"}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op lacks the attribute 'replica_groups'}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op attribute 'use_global_device_ids' must be a unit attribute, not 1 : i64}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids = 1 : i64}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op attribute 'channel_handle' must be a #stablehlo.channel_handle<handle = H, type = T>, not 5 : i64}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = 5 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op attribute 'channel_handle' must be a #stablehlo.channel_handle<handle = H, type = T>, not #stablehlo.channel_handle<handle = 1>}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op lacks the attribute 'all_gather_dim'}}
%0 = "stablehlo.all_gather"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op attribute 'all_gather_dim' must be an i64, not "0"}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = "0", replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op attribute 'all_gather_dim' is 1, which is not in [0, 1), the dimensions of its operand}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op has 2 operands but 1 results}}
%0 = "stablehlo.all_gather"(%x, %x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
// expected-error@+1 {{'stablehlo.all_gather' op 'replica_groups' lists 4611686018427387904 ids, but there are at most 16777216 devices}}
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<-1> : tensor<2x2305843009213693952xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
// -----

func.func @row(%x: tensor<8xf32>) -> tensor<8xf32> {
  ROW
  return %0 : tensor<8xf32>
}
// -----

// expected-error@+1 {{'stablehlo.all_to_all' op attribute 'split_count' is 4, but its groups have 2 devices}}
%0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.all_reduce' op has 0 regions, but reduces by one}}
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs' has the source 0 in pair 0 and again in pair 2}}
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0], [0, 2]]> : tensor<3x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs' has the target 1 in pair 0 and again in pair 1}}
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.collective_permute' op 'source_target_pairs' lists the id -1 in pair 0, which is no id}}
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.collective_permute' op attribute 'source_target_pairs' must be a matrix of i64 with two columns, not dense}}
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.collective_permute' op attribute 'source_target_pairs' must be a matrix of i64 with two columns}}
%0 = "stablehlo.collective_permute"(%x) <{}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.custom_call' op is not converted: whether @mine communicates is not known; without 'strict' it blocks in its place}}
%0 = "stablehlo.custom_call"(%x) <{call_target_name = "mine", has_side_effect = true}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.custom_call' op is not converted: whether what it calls communicates is not known; without 'strict' it blocks in its place}}
%0 = "stablehlo.custom_call"(%x) <{has_side_effect = true}> : (tensor<8xf32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.custom_call' op has 2 operands and 1 results, but a ragged all-to-all has 6 and 1}}
%0 = "stablehlo.custom_call"(%x, %x) <{backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}, call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// -----

func.func @row(%x: tensor<8xf32>, %o: tensor<8xf32>, %l: tensor<2xi32>) -> tensor<8xf32> {
  ROW
  return %0 : tensor<8xf32>
}
// -----

// expected-error@+1 {{'stablehlo.custom_call' op is not converted: it has no dictionary 'backend_config' with its groups; without 'strict' it blocks in its place}}
%0 = "stablehlo.custom_call"(%x, %o, %l, %l, %l, %l) <{backend_config = "groups", call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.custom_call' op lacks the attribute 'replica_groups'}}
%0 = "stablehlo.custom_call"(%x, %o, %l, %l, %l, %l) <{backend_config = {}, call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8xf32>
// expected-error@+1 {{'stablehlo.custom_call' op 'channel_id' in 'backend_config' must be an i64, not "1"}}
%0 = "stablehlo.custom_call"(%x, %o, %l, %l, %l, %l) <{backend_config = {channel_id = "1", replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}, call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8xf32>
