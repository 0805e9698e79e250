// Pairs become asynchronous operations, or blocking ones where nothing stands
// between start and wait; attributes of originals are restored.

// RUN: commsched-opt %s --convert-commsched-to-stablehlo --mlir-print-op-generic --mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ASYNC -enable-var-scope --implicit-check-not=commsched
// RUN: commsched-opt %s --convert-commsched-to-stablehlo=version=1.16 --mlir-print-op-generic --mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefixes=CHECK,OLD -enable-var-scope --implicit-check-not=commsched
// RUN: commsched-opt %s --convert-commsched-to-stablehlo=version=1.17.0 --mlir-print-op-generic --mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ASYNC -enable-var-scope --implicit-check-not=commsched

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
commsched.group @replica_groups_0 size(2) ranks(dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>) {stablehlo.group = {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}}

// CHECK-LABEL: sym_name = "separated"
// CHECK: ^bb0(%[[X:.*]]: tensor<8x4xf32>):
// ASYNC-NEXT: %[[F:.*]] = "stablehlo.async_start"(%[[X]]) ({
// ASYNC-NEXT: ^bb0(%[[ARG:.*]]: tensor<8x4xf32>):
// ASYNC-NEXT: %[[G:.*]] = "stablehlo.all_gather"(%[[ARG]]) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> {my.attr} : (tensor<8x4xf32>) -> tensor<8x8xf32>
// ASYNC-NEXT: "stablehlo.return"(%[[G]]) : (tensor<8x8xf32>) -> ()
// ASYNC-NEXT: }) : (tensor<8x4xf32>) -> !stablehlo.future<tensor<8x8xf32>>
// OLD-NEXT: %[[R:.*]] = "stablehlo.all_gather"(%[[X]]) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> {my.attr} : (tensor<8x4xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %[[S:.*]] = "stablehlo.sine"(%[[X]]) : (tensor<8x4xf32>) -> tensor<8x4xf32>
// ASYNC-NEXT: %[[R:.*]] = "stablehlo.async_done"(%[[F]]) : (!stablehlo.future<tensor<8x8xf32>>) -> tensor<8x8xf32>
// CHECK-NEXT: "func.return"(%[[R]], %[[S]])
func.func @separated(%x: tensor<8x4xf32> {commsched.freeable}) -> (tensor<8x8xf32>, tensor<8x4xf32>) {
  %f = commsched.all_gather %x on @replica_groups_0 dim(1) {commsched.name = "weights", commsched.runtime_ns = 7, my.attr, stablehlo.named, stablehlo.properties = {all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}} : tensor<8x4xf32> -> !commsched.future<tensor<8x8xf32>>
  %s = "stablehlo.sine"(%x) {commsched.runtime_ns = 3} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %g = commsched.wait %f : !commsched.future<tensor<8x8xf32>>
  return %g, %s : tensor<8x8xf32>, tensor<8x4xf32>
}

// XLA fails to start one without elements, of which it makes a constant.

// CHECK-LABEL: sym_name = "empty"
// CHECK: "stablehlo.all_gather"
// CHECK-NEXT: "stablehlo.sine"
// CHECK-NEXT: "func.return"
func.func @empty(%x: tensor<0x4xf32>) -> (tensor<0x4xf32>, tensor<0x4xf32>) {
  %f = commsched.all_gather %x on @replica_groups_0 dim(0) : tensor<0x4xf32> -> !commsched.future<tensor<0x4xf32>>
  %s = "stablehlo.sine"(%x) : (tensor<0x4xf32>) -> tensor<0x4xf32>
  %g = commsched.wait %f : !commsched.future<tensor<0x4xf32>>
  return %g, %s : tensor<0x4xf32>, tensor<0x4xf32>
}

// An original pair stays one.

// Hints for XLA apply to the pair.

// CHECK-LABEL: sym_name = "hints"
// CHECK: ^bb0(%[[X:.*]]: tensor<8x4xf32>):
// ASYNC: }) {mhlo.frontend_attributes = {a = "b"}} : (tensor<8x4xf32>) -> !stablehlo.future
// ASYNC: "stablehlo.async_done"(%{{.*}}) {mhlo.frontend_attributes = {a = "b"}}
func.func @hints(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %f = commsched.broadcast %x on @replica_groups_0 root(0) {mhlo.frontend_attributes = {a = "b"}, stablehlo.properties = {replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}} : tensor<8x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %s = "stablehlo.sine"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = commsched.wait %f : !commsched.future<tensor<8x4xf32>>
  return %r, %s : tensor<8x4xf32>, tensor<8x4xf32>
}

// A custom call cannot be asynchronous.

// CHECK-LABEL: sym_name = "ragged"
// CHECK: ^bb0(%[[X:.*]]: tensor<8x4xf32>, %[[L:.*]]: tensor<2xi32>, %[[BUF:.*]]: tensor<9x4xf32>):
// CHECK-NEXT: %[[R:.*]] = "stablehlo.custom_call"(%[[X]], %[[BUF]], %[[L]], %[[L]], %[[L]], %[[L]]) <{call_target_name = "ragged_all_to_all"}> : (tensor<8x4xf32>, tensor<9x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<9x4xf32>
// CHECK-NEXT: %[[S:.*]] = "stablehlo.sine"(%[[X]])
// CHECK-NEXT: "func.return"(%[[R]], %[[S]])
func.func @ragged(%x: tensor<8x4xf32>, %l: tensor<2xi32>, %b: tensor<9x4xf32>) -> (tensor<9x4xf32>, tensor<8x4xf32>) {
  %f = commsched.ragged_all_to_all %x on @replica_groups_0 send(%l, %l) at(%l) receive(%l) into %b {stablehlo.properties = {call_target_name = "ragged_all_to_all"}} : tensor<8x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32> into tensor<9x4xf32> -> !commsched.future<tensor<9x4xf32>>
  %s = "stablehlo.sine"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = commsched.wait %f : !commsched.future<tensor<9x4xf32>>
  return %r, %s : tensor<9x4xf32>, tensor<8x4xf32>
}
}
