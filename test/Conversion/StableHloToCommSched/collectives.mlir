// RUN: commsched-opt %s --convert-stablehlo-to-commsched | FileCheck %s

// CHECK: commsched.group @replica_groups_0 size(4) ranks(dense<{{\[\[}}0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>)
// CHECK-SAME: {stablehlo.group = {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}}
// CHECK-NEXT: commsched.group @all_devices size(8) ranks(dense<{{\[\[}}0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>)
// CHECK-SAME: {stablehlo.group = {channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, permute}}
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {

// CHECK-LABEL: func.func @all_gather(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x32xf32>
// CHECK: %[[F:.*]] = commsched.all_gather %[[X]] on @replica_groups_0 dim(1)
// CHECK-SAME: {commsched.name = "all_gather.0", mhlo.frontend_attributes = {a = "b"}, stablehlo.named, stablehlo.properties = {all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}}
// CHECK-SAME: : tensor<8x32xf32> -> !commsched.future<tensor<8x128xf32>>
// CHECK-NEXT: %[[W:.*]] = commsched.wait %[[F]]
// CHECK-NEXT: return %[[W]]
func.func @all_gather(%x: tensor<8x32xf32>) -> tensor<8x128xf32> {
  %0 = "stablehlo.all_gather"(%x) <{
    all_gather_dim = 1 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
    replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>,
    use_global_device_ids
  }> {mhlo.frontend_attributes = {a = "b"}}
    : (tensor<8x32xf32>) -> tensor<8x128xf32>
  return %0 : tensor<8x128xf32>
}

// Several operands are one launch. Other channels make no other group.

// CHECK-LABEL: func.func @several(
// CHECK: %[[F:.*]] = commsched.all_gather %{{.*}}, %{{.*}} on @replica_groups_0 dim(0) {commsched.name = "all_gather.1"
// CHECK-SAME: channel_handle<handle = 2, type = 0>
// CHECK: %[[W:.*]]:2 = commsched.wait %[[F]]
// CHECK: return %[[W]]#0, %[[W]]#1
func.func @several(%x: tensor<8xf32>, %y: tensor<2x3xi32>)
    -> (tensor<32xf32>, tensor<8x3xi32>) {
  %0:2 = "stablehlo.all_gather"(%x, %y) <{
    all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>,
    replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>,
    use_global_device_ids
  }> : (tensor<8xf32>, tensor<2x3xi32>) -> (tensor<32xf32>, tensor<8x3xi32>)
  return %0#0, %0#1 : tensor<32xf32>, tensor<8x3xi32>
}

// CHECK-LABEL: func.func @permute(
// CHECK: commsched.permute %{{.*}} on @all_devices pairs(dense<{{\[\[}}0, 1], [1, 0]]> : tensor<2x2xi64>)
func.func @permute(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{
    channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>,
    source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
  }> : (tensor<2x64xf32>) -> tensor<2x64xf32>
  return %0 : tensor<2x64xf32>
}

// The buffer is written in place.

// CHECK-LABEL: func.func @ragged(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x32xf32>, %[[O:[^:]*]]: tensor<16x32xf32>
// CHECK-SAME: %[[A:[^:]*]]: tensor<4xi32>, %[[B:[^:]*]]: tensor<4xi32>, %[[C:[^:]*]]: tensor<4xi32>, %[[D:[^:]*]]: tensor<4xi32>)
// CHECK: commsched.ragged_all_to_all %[[X]] on @replica_groups_0 send(%[[A]], %[[B]]) at(%[[C]]) receive(%[[D]]) into %[[O]]
// CHECK-SAME: commsched.name = "ragged_all_to_all.0"
// CHECK-SAME: stablehlo.properties = {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups =
func.func @ragged(%x: tensor<8x32xf32>, %o: tensor<16x32xf32>,
                  %a: tensor<4xi32>, %b: tensor<4xi32>, %c: tensor<4xi32>,
                  %d: tensor<4xi32>) -> tensor<16x32xf32> {
  %0 = "stablehlo.custom_call"(%x, %o, %a, %b, %c, %d) <{
    api_version = 4 : i32,
    backend_config = {
      channel_id = 1 : i64,
      replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>
    },
    call_target_name = "ragged_all_to_all"
  }> : (tensor<8x32xf32>, tensor<16x32xf32>, tensor<4xi32>, tensor<4xi32>,
        tensor<4xi32>, tensor<4xi32>) -> tensor<16x32xf32>
  return %0 : tensor<16x32xf32>
}

}
