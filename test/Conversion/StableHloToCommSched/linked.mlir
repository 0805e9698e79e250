// RUN: commsched-test-opt %s --convert-stablehlo-to-commsched | FileCheck %s
// RUN: commsched-test-opt %s > %t.before
// RUN: commsched-test-opt %s --convert-stablehlo-to-commsched \
// RUN:   --convert-commsched-to-stablehlo | diff %t.before -

// In a compiler that links StableHLO, its operations are registered, and their
// attributes are properties in C++ structs.

// CHECK: commsched.group @replica_groups_0 size(2)
// CHECK-SAME: {stablehlo.group = {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, use_global_device_ids}}
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {

// CHECK-LABEL: func.func @step(
// CHECK: %[[F:.*]] = commsched.all_gather %{{.*}} on @replica_groups_0 dim(0) {commsched.name = "all_gather.0", stablehlo.named, stablehlo.properties = {all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, use_global_device_ids}}
// CHECK-NEXT: %[[W:.*]] = commsched.wait %[[F]]
// CHECK-NEXT: %[[G:.*]] = commsched.all_reduce %[[W]] on @replica_groups_0 reduction(sum)
// CHECK-SAME: stablehlo.async = {}
// CHECK-NEXT: %[[V:.*]] = call @twice(%[[W]]) {commsched.pure}
// CHECK-NEXT: %[[U:.*]] = commsched.wait %[[G]]
// CHECK-NEXT: return %[[U]], %[[V]]
func.func @step(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
  %1 = "stablehlo.async_start"(%0) ({
  ^bb0(%p: tensor<8xf32>):
    %4 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>) -> tensor<8xf32>
    "stablehlo.return"(%4) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
  %2 = func.call @twice(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<8xf32>>) -> tensor<8xf32>
  return %3, %2 : tensor<8xf32>, tensor<8xf32>
}

func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.add"(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The handle is read from the text that its dialect prints.

// CHECK-LABEL: func.func @permute(
// CHECK: commsched.permute %{{.*}} on @all_devices
// CHECK-SAME: stablehlo.properties = {channel_handle = #stablehlo.channel_handle<handle = 7, type = 0>, source_target_pairs
func.func @permute(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 7, type = 0>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

}
