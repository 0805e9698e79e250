// RUN: commsched-opt %s -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched=lenient --remarks-filter=commsched \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @groups(
// CHECK: "stablehlo.all_gather"
func.func @groups(%x: tensor<2xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{stablehlo.all_gather is not converted: its 'replica_groups' name the mesh @mesh, of which the module declares no axes; it blocks in its place}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh_name = @mesh, axes = [<name = "x">]>}> : (tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @custom_call(
// CHECK: "stablehlo.custom_call"
func.func @custom_call(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark@+1 {{stablehlo.custom_call is not converted: whether @all_reduce_of_mine communicates is not known; it blocks in its place}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "all_reduce_of_mine", has_side_effect = true}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
