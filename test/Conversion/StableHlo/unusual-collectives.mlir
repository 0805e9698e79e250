// Unusual collectives.
// Each comes out as it went in, and a scheduled one can be read again.
// RUN: commsched-opt %s -split-input-file -o %t.plain
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched \
// RUN:   --convert-commsched-to-stablehlo -o %t.back
// RUN: diff %t.plain %t.back
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched \
// RUN:   --commsched-pipeline --convert-commsched-to-stablehlo -o %t.scheduled
// RUN: commsched-opt %t.scheduled -split-input-file -o /dev/null
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched \
// RUN:   | FileCheck %s --check-prefix=IN
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched \
// RUN:   --remarks-filter=commsched -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// IN-LABEL: @padding_middle
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: its groups have different sizes
func.func @padding_middle(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, -1, 2], [3, 1, -1]]> : tensor<2x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @padding_only
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: its groups have different sizes
func.func @padding_only(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [-1, -1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @modes
// IN: commsched.all_reduce
// IN: commsched.all_reduce
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @modes(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %r = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// -----

// IN-LABEL: @permute_none
// IN: commsched.permute
func.func @permute_none(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<> : tensor<0x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @permute_self
// IN: commsched.permute
func.func @permute_self(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @permute_no_channel
// IN: commsched.permute
func.func @permute_no_channel(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @reducer_returns_argument
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements
func.func @reducer_returns_argument(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @reducer_captures
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements
func.func @reducer_captures(%x: tensor<4x4xf32>, %c: tensor<f32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @reducer_f64
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements
func.func @reducer_f64(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "stablehlo.return"(%s) : (tensor<f64>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @encoded
// IN: commsched.all_reduce
func.func @encoded(%x: tensor<4x4xf32, #stablehlo.type_extensions<bounds = [8, 8]>>) -> tensor<4x4xf32, #stablehlo.type_extensions<bounds = [8, 8]>> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32, #stablehlo.type_extensions<bounds = [8, 8]>>) -> tensor<4x4xf32, #stablehlo.type_extensions<bounds = [8, 8]>>
  return %r : tensor<4x4xf32, #stablehlo.type_extensions<bounds = [8, 8]>>
}

// -----

// IN-LABEL: @no_tensor
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: f32 is no ranked tensor
func.func @no_tensor(%x: f32) -> f32 {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (f32) -> f32
  return %r : f32
}

// -----

// IN-LABEL: @token
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: !stablehlo.token is no ranked tensor
func.func @token(%x: !stablehlo.token) -> !stablehlo.token {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (!stablehlo.token) -> !stablehlo.token
  return %r : !stablehlo.token
}

// -----

// IN-LABEL: @zero_elements
// IN: commsched.all_reduce
func.func @zero_elements(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<0x4xf32>) -> tensor<0x4xf32>
  return %r : tensor<0x4xf32>
}

// -----

// IN-LABEL: @no_operands
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: it has no operands
func.func @no_operands() {
  "stablehlo.all_reduce"() <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : () -> ()
  return
}

// -----

// IN-LABEL: @unused_result
// IN: commsched.all_gather
func.func @unused_result(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
  %q = "stablehlo.tanh"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %q : tensor<4x4xf32>
}

// -----

// IN-LABEL: @unknown_property
// IN: commsched.all_reduce
func.func @unknown_property(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, my_field = 3 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) {my_mark = "kept"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @splat_groups
// IN: commsched.all_reduce
func.func @splat_groups(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @old_attributes
// IN: commsched.all_gather
func.func @old_attributes(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  %r = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids} : (tensor<4x4xf32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

// IN-LABEL: @mixed_types
// IN: commsched.all_gather
func.func @mixed_types(%x: tensor<4x4xf32>, %y: tensor<2xbf16>) -> (tensor<16x4xf32>, tensor<8xbf16>) {
  %r:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>, tensor<2xbf16>) -> (tensor<16x4xf32>, tensor<8xbf16>)
  return %r#0, %r#1 : tensor<16x4xf32>, tensor<8xbf16>
}

// -----

// IN-LABEL: @modes_mixed
// IN: commsched.all_reduce
// IN: commsched.all_reduce
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @modes_mixed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %r = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}
