// Unusual regions, calls and asynchronous operations.
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

// IN-LABEL: @async_empty
// IN-NOT: commsched.wait
func.func @async_empty(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  %f = "stablehlo.async_start"(%x) ({

  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

// IN-LABEL: @async_returns_argument
// IN-NOT: commsched.wait
func.func @async_returns_argument(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    "stablehlo.return"(%a) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x4xf32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4x4xf32>>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @async_captures
// IN-NOT: commsched.wait
// REMARK: stablehlo.async_start is not converted: its region is not one collective of its arguments
func.func @async_captures(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%g) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

// IN-LABEL: @group_name_taken
// IN: commsched.all_reduce
func.func private @replica_groups_0()
func.func @group_name_taken(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @in_reducer
// IN-NOT: commsched.wait
// REMARK: stablehlo.all_reduce is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements
func.func @in_reducer(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %i = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %e = "stablehlo.add"(%c, %d) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%e) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    %s = "stablehlo.add"(%i, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @recursion
// IN: commsched.all_reduce
func.func @recursion(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %q = call @recursion(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.all_reduce"(%q) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @send_recv
// IN: commsched.all_reduce
func.func @send_recv(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t = "stablehlo.create_token"() : () -> !stablehlo.token
  %u = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
  %v:2 = "stablehlo.recv"(%u) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
  %r = "stablehlo.all_reduce"(%v#0) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @manual_captures
// IN: commsched.all_reduce
func.func @manual_captures(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ^bb0(%p: tensor<4x4xf32>):
  %q = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "sdy.return"(%q) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @manual_nested
// IN: commsched.all_reduce
func.func @manual_nested(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ^bb0(%p: tensor<4x4xf32>):
  %m = "sdy.manual_computation"(%p) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ^bb0(%pp: tensor<4x4xf32>):
  %q = "stablehlo.all_reduce"(%pp) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "sdy.return"(%q) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "sdy.return"(%m) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @manual_wrong_return
// IN: commsched.all_reduce
func.func @manual_wrong_return(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ^bb0(%p: tensor<4x4xf32>):
  %q = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "sdy.return"() : () -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @manual_two_blocks
// IN: commsched.all_reduce
func.func @manual_two_blocks(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ^bb0(%p: tensor<4x4xf32>):
  %q = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "cf.br"()[^bb1] : () -> ()
  ^bb1:
    "sdy.return"(%q) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN-LABEL: @manual_name_taken
// IN: commsched.all_reduce
func.func @manual_name_taken(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ^bb0(%p: tensor<4x4xf32>):
  %q = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "sdy.return"(%q) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
func.func private @manual_name_taken.manual_computation_0()

// -----

// IN-LABEL: @manual_empty
// IN-NOT: commsched.wait
func.func @manual_empty(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// IN: commsched.all_reduce
%x = "stablehlo.constant"() <{value = dense<1.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>

// -----

// IN-LABEL: @nested_module
// IN-NOT: commsched.wait
module {
  module @inner {
  func.func @nested_module(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}
}
