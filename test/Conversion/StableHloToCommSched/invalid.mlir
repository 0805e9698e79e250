// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched=strict

LET $channel channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>
LET $pair replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
LET $gather(PROPERTIES) %0 = "stablehlo.all_gather"(%x) <{PROPERTIES}> : (tensor<8xf32>) -> tensor<16xf32>
LET $permute(PROPERTIES) %0 = "stablehlo.collective_permute"(%x) <{PROPERTIES}> : (tensor<8xf32>) -> tensor<8xf32>
LET $ragged(BACKEND) "stablehlo.custom_call"(%x, %x, %l, %l, %l, %l) <{backend_config = BACKEND, call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)

ROW

// -----

$error('builtin.module' op attribute 'mhlo.num_replicas' must be a number from 1 to 2147483647, not 0 : i32)
module @zero attributes {mhlo.num_replicas = 0 : i32} {}
$error('builtin.module' op attribute 'mhlo.num_replicas' must be a number from 1 to 2147483647, not "8")
module @text attributes {mhlo.num_replicas = "8"} {}

// -----

module attributes {mhlo.num_partitions = $partitions : i32, mhlo.num_replicas = $replicas : i32} {
  func.func @row(%x: tensor<8xf32>) {
    ROW
    return
  }
}

// -----

$error('stablehlo.all_gather' op 'replica_groups' lists the device 4 in group 1, but the module has 4 devices)
LET $partitions 4
LET $replicas 1
$gather(all_gather_dim = 0 : i64, $channel, replica_groups = dense<[[0, 1], [2, 4]]> : tensor<2x2xi64>, use_global_device_ids)
$error('stablehlo.all_gather' op 'replica_groups' lists the replica 2 in group 0, but the module has 2 replicas)
LET $partitions 4
LET $replicas 2
$gather(all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>)
$error('stablehlo.all_to_all' op 'replica_groups' lists the partition 2 in group 0, but the module has 2 partitions)
LET $partitions 2
LET $replicas 2
%0 = "stablehlo.all_to_all"(%x) <{$channel, concat_dimension = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
$error('stablehlo.all_gather' op 'replica_groups' does not list the device 2, but the module has 4 devices)
LET $partitions 4
LET $replicas 1
$gather(all_gather_dim = 0 : i64, $channel, $pair, use_global_device_ids)
$error('stablehlo.collective_permute' op names the replica 2, but the module has 2 replicas)
LET $partitions 1
LET $replicas 2
$permute(source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>)

// -----

func.func @row(%x: tensor<8xf32>, %7: tensor<7xf32>, %huge: tensor<4611686018427387904xf32>,
               %m: tensor<8x2xf32>, %n: tensor<8x3xf32>, %l: tensor<2xi32>) {
  ROW
  return
}

// -----

$error('stablehlo.all_gather' op works along dimension 1, but operand 1 is a 'tensor<8xf32>')
%0:2 = "stablehlo.all_gather"(%m, %x) <{all_gather_dim = 1 : i64, $pair}> : (tensor<8x2xf32>, tensor<8xf32>) -> (tensor<8x4xf32>, tensor<16xf32>)
$error('stablehlo.reduce_scatter' op attribute 'scatter_dimension' is -1, which is not in [0, 1), the dimensions of its operand)
%0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = -1 : i64, $pair}> : (tensor<8xf32>) -> tensor<4xf32>
$error('stablehlo.reduce_scatter' op splits 'tensor<7xf32>' along dimension 0 among the devices of a group, of which there are 2)
%0 = "stablehlo.reduce_scatter"(%7) <{scatter_dimension = 0 : i64, $pair}> : (tensor<7xf32>) -> tensor<4xf32>
$error('stablehlo.all_gather' op concatenates 'tensor<4611686018427387904xf32>' along dimension 0 for 2 devices, which is too large)
%0 = "stablehlo.all_gather"(%huge) <{all_gather_dim = 0 : i64, $pair}> : (tensor<4611686018427387904xf32>) -> tensor<16xf32>
$error('stablehlo.custom_call' op sends rows of a 'tensor<8x2xf32>', which are no rows of a 'tensor<8x3xf32>')
%0 = "stablehlo.custom_call"(%m, %n, %l, %l, %l, %l) <{backend_config = {$pair}, call_target_name = "ragged_all_to_all"}> : (tensor<8x2xf32>, tensor<8x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8x3xf32>
$error('stablehlo.custom_call' op result is a 'tensor<9xf32>', but is written into a 'tensor<8xf32>')
%0 = $ragged({$pair}) -> tensor<9xf32>
$error('stablehlo.all_gather' op 'replica_groups' lists the replica 0 in group 0 and again in group 0)
$gather(all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>)
$error('stablehlo.all_gather' op 'replica_groups' lists the replica -2 in group 0, but there are at most 16777216 replicas)
$gather(all_gather_dim = 0 : i64, replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>)
$error('stablehlo.all_gather' op 'replica_groups' does not list the replica 1, but lists one with a larger number)
$gather(all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>)
$error('stablehlo.all_gather' op 'replica_groups' must be a matrix of i64, not 'tensor<2xi64>')
$gather(all_gather_dim = 0 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>)
$error('stablehlo.all_gather' op 'replica_groups' must be a matrix of i64, not 'tensor<1x2xi32>')
$gather(all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>)
$error('stablehlo.all_gather' op attribute 'replica_groups' must be a matrix of i64, not "all")
$gather(all_gather_dim = 0 : i64, replica_groups = "all")
$error('stablehlo.all_gather' op lacks the attribute 'replica_groups')
$gather(all_gather_dim = 0 : i64)
$error('stablehlo.all_gather' op attribute 'use_global_device_ids' must be a unit attribute, not 1 : i64)
$gather(all_gather_dim = 0 : i64, $channel, $pair, use_global_device_ids = 1 : i64)
$error('stablehlo.all_gather' op attribute 'channel_handle' must be a #stablehlo.channel_handle<handle = H, type = T>, not 5 : i64)
$gather(all_gather_dim = 0 : i64, channel_handle = 5 : i64, $pair)
$error('stablehlo.all_gather' op attribute 'channel_handle' must be a #stablehlo.channel_handle<handle = H, type = T>, not #stablehlo.channel_handle<handle = 1>)
$gather(all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1>, $pair)
$error('stablehlo.all_gather' op lacks the attribute 'all_gather_dim')
$gather($pair)
$error('stablehlo.all_gather' op attribute 'all_gather_dim' must be an i64, not "0")
$gather(all_gather_dim = "0", $pair)
$error('stablehlo.all_gather' op attribute 'all_gather_dim' is 1, which is not in [0, 1), the dimensions of its operand)
$gather(all_gather_dim = 1 : i64, $pair)
$error('stablehlo.all_gather' op has 2 operands but 1 results)
%0 = "stablehlo.all_gather"(%x, %x) <{all_gather_dim = 0 : i64, $pair}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
$error('stablehlo.all_gather' op 'replica_groups' lists 4611686018427387904 ids, but there are at most 16777216 devices)
$gather(all_gather_dim = 0 : i64, replica_groups = dense<-1> : tensor<2x2305843009213693952xi64>)
$error('stablehlo.all_to_all' op attribute 'split_count' is 4, but its groups have 2 devices)
%0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, $pair, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
$error('stablehlo.all_reduce' op has 0 regions, but reduces by one)
%0 = "stablehlo.all_reduce"(%x) <{$pair}> : (tensor<8xf32>) -> tensor<8xf32>
$error('stablehlo.collective_permute' op 'source_target_pairs' has the source 0 in pair 0 and again in pair 2)
$permute(source_target_pairs = dense<[[0, 1], [1, 0], [0, 2]]> : tensor<3x2xi64>)
$error('stablehlo.collective_permute' op 'source_target_pairs' lists the id -1 in pair 0, which is no id)
$permute(source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>)
$error('stablehlo.collective_permute' op attribute 'source_target_pairs' must be a matrix of i64 with two columns, not dense)
$permute(source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>)
$error('stablehlo.collective_permute' op attribute 'source_target_pairs' must be a matrix of i64 with two columns)
$permute()
$error('stablehlo.custom_call' op is not converted: whether @mine communicates is not known; without 'strict' it blocks in its place)
%0 = "stablehlo.custom_call"(%x) <{call_target_name = "mine", has_side_effect = true}> : (tensor<8xf32>) -> tensor<8xf32>
$error('stablehlo.custom_call' op is not converted: whether what it calls communicates is not known; without 'strict' it blocks in its place)
%0 = "stablehlo.custom_call"(%x) <{has_side_effect = true}> : (tensor<8xf32>) -> tensor<8xf32>
$error('stablehlo.custom_call' op has 2 operands and 1 results, but a ragged all-to-all has 6 and 1)
%0 = "stablehlo.custom_call"(%x, %x) <{backend_config = {$pair}, call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
$error('stablehlo.custom_call' op is not converted: it has no dictionary 'backend_config' with its groups; without 'strict' it blocks in its place)
%0 = $ragged("groups") -> tensor<8xf32>
$error('stablehlo.custom_call' op lacks the attribute 'replica_groups')
%0 = $ragged({}) -> tensor<8xf32>
$error('stablehlo.custom_call' op 'channel_id' in 'backend_config' must be an i64, not "1")
%0 = $ragged({channel_id = "1", $pair}) -> tensor<8xf32>
