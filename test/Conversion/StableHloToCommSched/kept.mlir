// RUN: commsched-opt %s -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched --remarks-filter=commsched | FileCheck %s

// CHECK-LABEL: func.func @dynamic(
// CHECK: "stablehlo.all_gather"
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-remark@+1 {{stablehlo.all_gather is not converted: tensor<?xf32> has a dynamic size}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @unknown_size(
// CHECK: "stablehlo.all_gather"
func.func @unknown_size(%x: tensor<2x!stablehlo.f3>) -> tensor<4x!stablehlo.f3> {
  // expected-remark@+1 {{stablehlo.all_gather is not converted: the size of !stablehlo.f3 is not known}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x!stablehlo.f3>) -> tensor<4x!stablehlo.f3>
  return %0 : tensor<4x!stablehlo.f3>
}

// -----

// A collective_broadcast may leave devices out, a commsched.group may not.

// CHECK: "stablehlo.collective_broadcast"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
func.func @not_all(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark@+1 {{stablehlo.collective_broadcast is not converted: not all devices take part}}
  %0 = "stablehlo.collective_broadcast"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
}

// -----

// Nothing is narrowed.

// CHECK-LABEL: func.func @narrowed(
// CHECK: "stablehlo.all_reduce"
func.func @narrowed(%x: tensor<2xf32>) -> tensor<2xbf16> {
  // expected-remark@+1 {{stablehlo.all_reduce is not converted: its result has another element type than its operand}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %c = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%c) : (tensor<bf16>) -> ()
  }) : (tensor<2xf32>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// -----

// The operands of the collective are not those of the pair.

// CHECK-LABEL: func.func @not_in_order(
// CHECK: "stablehlo.async_start"
// CHECK: "stablehlo.all_gather"
func.func @not_in_order(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-remark@+1 {{stablehlo.async_start is not converted: its region is not one collective of its arguments}}
  %0 = "stablehlo.async_start"(%x, %y) ({
  ^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>):
    %3:2 = "stablehlo.all_gather"(%q, %p) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    "stablehlo.return"(%3#0, %3#1) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : (tensor<2xf32>, tensor<2xf32>) -> !stablehlo.future<tensor<4xf32>, tensor<4xf32>>
  %1:2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4xf32>, tensor<4xf32>>) -> (tensor<4xf32>, tensor<4xf32>)
  return %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @ragged(
// CHECK: "stablehlo.custom_call"
func.func @ragged(%x: tensor<8xf32>, %a: tensor<3xi32>) -> tensor<8xf32> {
  // expected-remark@+1 {{stablehlo.custom_call is not converted: its lists do not have entries for each device}}
  %0 = "stablehlo.custom_call"(%x, %x, %a, %a, %a, %a) <{backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}, call_target_name = "ragged_all_to_all"}> : (tensor<8xf32>, tensor<8xf32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
