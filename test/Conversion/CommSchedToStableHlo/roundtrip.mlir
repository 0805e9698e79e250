// In and out without a pass between is the same text, with and without
// locations. The modules are as jaxlib prints them.

// RUN: commsched-opt %s -split-input-file --mlir-print-op-generic > %t.there
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched --convert-commsched-to-stablehlo --mlir-print-op-generic > %t.back
// RUN: diff %t.there %t.back
// RUN: commsched-opt %s -split-input-file --mlir-print-op-generic --mlir-print-debuginfo --mlir-print-local-scope > %t.there
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched --convert-commsched-to-stablehlo --mlir-print-op-generic --mlir-print-debuginfo --mlir-print-local-scope > %t.back
// RUN: diff %t.there %t.back

// Everything was converted in between.
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched --mlir-print-op-generic | FileCheck %s
// CHECK-NOT: "stablehlo.{{all|collective|async|reduce_scatter}}

"builtin.module"() <{sym_name = "jit_f"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["dp"=8]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "dp", size = 8 : i64}]}} : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<64x32xf32>, tensor<16x64xf32>) -> (tensor<f32>, tensor<64x32xf32>, tensor<16x32xf32>, tensor<128x8xf32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<64x32xf32>, %arg2: tensor<16x64xf32>):
    %3:4 = "sdy.manual_computation"(%arg1, %arg2) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"dp"}, {}]>, <@mesh, [{"dp"}, {}]>]>, manual_axes = #sdy<manual_axes{"dp"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"dp"}, {}]>, <@mesh, [{"dp"}, {}]>, <@mesh, [{"dp"}, {}]>]>}> ({
    ^bb0(%arg3: tensor<8x32xf32>, %arg4: tensor<2x64xf32>):
      %4 = "stablehlo.all_gather"(%arg3) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<8x32xf32>) -> tensor<64x32xf32>
      %5 = "stablehlo.dot_general"(%arg4, %4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
      %6 = "func.call"(%5) <{callee = @relu}> : (tensor<2x32xf32>) -> tensor<2x32xf32>
      %7 = "stablehlo.multiply"(%6, %6) : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
      %8 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %9 = "stablehlo.reduce"(%7, %8) <{dimensions = array<i64: 0, 1>}> ({
      ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
        %20 = "stablehlo.add"(%arg9, %arg10) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%20) : (tensor<f32>) -> ()
      }) : (tensor<2x32xf32>, tensor<f32>) -> tensor<f32>
      %10 = "stablehlo.all_reduce"(%9) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
      ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
        %19 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%19) : (tensor<f32>) -> ()
      }) : (tensor<f32>) -> tensor<f32>
      %11 = "stablehlo.constant"() <{value = dense<8.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %12 = "stablehlo.divide"(%10, %11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %13 = "stablehlo.transpose"(%arg4) <{permutation = array<i64: 1, 0>}> : (tensor<2x64xf32>) -> tensor<64x2xf32>
      %14 = "stablehlo.dot_general"(%13, %6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<64x2xf32>, tensor<2x32xf32>) -> tensor<64x32xf32>
      %15 = "stablehlo.reduce_scatter"(%14) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
        %18 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%18) : (tensor<f32>) -> ()
      }) : (tensor<64x32xf32>) -> tensor<8x32xf32>
      %16 = "stablehlo.collective_permute"(%6) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<2x32xf32>) -> tensor<2x32xf32>
      %17 = "stablehlo.all_to_all"(%arg4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, split_count = 8 : i64, split_dimension = 1 : i64}> : (tensor<2x64xf32>) -> tensor<16x8xf32>
      "sdy.return"(%12, %15, %16, %17) : (tensor<f32>, tensor<8x32xf32>, tensor<2x32xf32>, tensor<16x8xf32>) -> ()
    }) : (tensor<64x32xf32>, tensor<16x64xf32>) -> (tensor<f32>, tensor<64x32xf32>, tensor<16x32xf32>, tensor<128x8xf32>)
    "func.return"(%3#0, %3#1, %3#2, %3#3) : (tensor<f32>, tensor<64x32xf32>, tensor<16x32xf32>, tensor<128x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x32xf32>) -> tensor<2x32xf32>, res_attrs = [{}], sym_name = "relu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x32xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x32xf32>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
    "func.return"(%2) : (tensor<2x32xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
// -----
"builtin.module"() <{sym_name = "jit_f"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["dp"=8]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "dp", size = 8 : i64}]}} : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<64x32xf32>, tensor<16x64xf32>) -> (tensor<64x32xf32>, tensor<2x64xf32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<64x32xf32>, %arg1: tensor<16x64xf32>):
    %0:2 = "sdy.manual_computation"(%arg0, %arg1) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"dp"}, {}]>, <@mesh, [{"dp"}, {}]>]>, manual_axes = #sdy<manual_axes{"dp"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>]>}> ({
    ^bb0(%arg2: tensor<8x32xf32>, %arg3: tensor<2x64xf32>):
      %1 = "stablehlo.async_start"(%arg2) ({
      ^bb0(%arg7: tensor<8x32xf32>):
        %7 = "stablehlo.all_gather"(%arg7) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<8x32xf32>) -> tensor<64x32xf32>
        "stablehlo.return"(%7) : (tensor<64x32xf32>) -> ()
      }) : (tensor<8x32xf32>) -> !stablehlo.future<tensor<64x32xf32>>
      %2 = "stablehlo.async_start"(%arg3) ({
      ^bb0(%arg4: tensor<2x64xf32>):
        %5 = "stablehlo.all_reduce"(%arg4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
        ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
          %6 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          "stablehlo.return"(%6) : (tensor<f32>) -> ()
        }) : (tensor<2x64xf32>) -> tensor<2x64xf32>
        "stablehlo.return"(%5) : (tensor<2x64xf32>) -> ()
      }) : (tensor<2x64xf32>) -> !stablehlo.future<tensor<2x64xf32>>
      %3 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<64x32xf32>>) -> tensor<64x32xf32>
      %4 = "stablehlo.async_done"(%2) : (!stablehlo.future<tensor<2x64xf32>>) -> tensor<2x64xf32>
      "sdy.return"(%3, %4) : (tensor<64x32xf32>, tensor<2x64xf32>) -> ()
    }) : (tensor<64x32xf32>, tensor<16x64xf32>) -> (tensor<64x32xf32>, tensor<2x64xf32>)
    "func.return"(%0#0, %0#1) : (tensor<64x32xf32>, tensor<2x64xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
// -----

// Several operands, attributes of users, replicas, a body of a loop, a hint.

"builtin.module"() ({
  "func.func"() <{arg_attrs = [{tf.aliasing_output = 0 : i32}, {}], function_type = (tensor<4xf32>, tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<2x3xf32>):
    %0:2 = "stablehlo.all_reduce"(%arg0, %arg1) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %5 = "stablehlo.minimum"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%5) : (tensor<f32>) -> ()
    }) {mhlo.frontend_attributes = {_xla_hint = "1"}} : (tensor<4xf32>, tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>)
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %2:2 = "stablehlo.while"(%1, %0#0) ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<4xf32>):
      %5 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
      %6 = "stablehlo.compare"(%arg2, %5) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%6) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<4xf32>):
      %5 = "stablehlo.collective_broadcast"(%arg3) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      %6 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %7 = "stablehlo.add"(%arg2, %6) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%7, %5) : (tensor<i32>, tensor<4xf32>) -> ()
    }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
    %3 = "stablehlo.async_start"(%0#1) ({
    ^bb0(%arg2: tensor<2x3xf32>):
      %5 = "stablehlo.collective_permute"(%arg2) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> {mhlo.frontend_attributes = {a = "inner"}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      "stablehlo.return"(%5) : (tensor<2x3xf32>) -> ()
    }) {mhlo.frontend_attributes = {_scheduling_group_id = "5"}} : (tensor<2x3xf32>) -> !stablehlo.future<tensor<2x3xf32>>
    %4 = "stablehlo.async_done"(%3) {mhlo.frontend_attributes = {_scheduling_group_id = "5"}} : (!stablehlo.future<tensor<2x3xf32>>) -> tensor<2x3xf32>
    "func.return"(%2#1, %4) : (tensor<4xf32>, tensor<2x3xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} : () -> ()
