// Groups, channels and pairs that contradict themselves or the module.
// Nothing is changed after an error.
// RUN: commsched-opt %s -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched --commsched-pipeline \
// RUN:   --convert-commsched-to-stablehlo

func.func @overlap(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op 'replica_groups' lists the device 1 in group 0 and again in group 1}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @negative(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op 'replica_groups' lists the device -2 in group 0, but there are at most 16777216 devices}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, -2]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @out_of_range(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    // expected-error @below {{'stablehlo.all_reduce' op 'replica_groups' lists the device 5 in group 0, but the module has 4 devices}}
    %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 5]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @do_not_cover(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    // expected-error @below {{'stablehlo.all_reduce' op 'replica_groups' does not list the device 2, but the module has 4 devices}}
    %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

func.func @missing_groups(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op lacks the attribute 'replica_groups'}}
  %r = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @groups_string(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op attribute 'replica_groups' must be a matrix of i64, not "all"}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = "all", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @groups_rank1(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op 'replica_groups' must be a matrix of i64, not 'tensor<2xi64>'}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[0, 1]> : tensor<2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @groups_i32(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op 'replica_groups' must be a matrix of i64, not 'tensor<1x2xi32>'}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @channel_text(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op attribute 'channel_handle' must be a #stablehlo.channel_handle<handle = H, type = T>, not "one"}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = "one"}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @channel_int(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op attribute 'channel_handle' must be a #stablehlo.channel_handle<handle = H, type = T>, not 1 : i64}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @channel_malformed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op attribute 'channel_handle' must be a #stablehlo.channel_handle<handle = H, type = T>, not #stablehlo.channel_handle<handle = one>}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = one>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @permute_two_targets(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.collective_permute' op 'source_target_pairs' has the target 1 in pair 0 and again in pair 1}}
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @permute_two_sources(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.collective_permute' op 'source_target_pairs' has the source 0 in pair 0 and again in pair 1}}
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @permute_triples(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.collective_permute' op attribute 'source_target_pairs' must be a matrix of i64 with two columns, not dense<[[0, 1, 2]]> : tensor<1x3xi64>}}
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @permute_negative(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.collective_permute' op 'source_target_pairs' lists the id -1 in pair 0, which is no id}}
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @permute_out_of_range(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    // expected-error @below {{'stablehlo.collective_permute' op names the partition 9, but the module has 4 partitions}}
    %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 9]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

func.func @permute_missing(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.collective_permute' op attribute 'source_target_pairs' must be a matrix of i64 with two columns}}
  %r = "stablehlo.collective_permute"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @resource_groups(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op attribute 'replica_groups' must be a matrix of i64, not dense_resource<groups> : tensor<1x4xi64>}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense_resource<groups> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @huge_ids(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op 'replica_groups' lists the device 9223372036854775807 in group 0, but there are at most 16777216 devices}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 9223372036854775807]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// expected-error @below {{'builtin.module' op attribute 'mhlo.num_partitions' must be a number from 1 to 2147483647, not -4 : i32}}
module attributes {mhlo.num_partitions = -4 : i32} {
  func.func @partitions_negative(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}
