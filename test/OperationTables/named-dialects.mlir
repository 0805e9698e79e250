// Dialects by name: the generic form of operations whose dialect is not linked
// is read without flags, and printed as it was.

// RUN: commsched-opt %s --mlir-print-op-generic > %t.generic.mlir
// RUN: commsched-opt %t.generic.mlir --mlir-print-op-generic | diff - %t.generic.mlir
// RUN: commsched-opt %s > %t.mlir
// RUN: commsched-opt %t.mlir | diff - %t.mlir
// RUN: FileCheck %s < %t.mlir

// Bytecode keeps everything, too.
// RUN: commsched-opt %s --emit-bytecode -o %t.mlirbc
// RUN: commsched-opt %t.mlirbc | diff - %t.mlir

// Only the generic form can be read.
// RUN: %fails commsched-opt %S/Inputs/custom-form.mlir \
// RUN:   "custom-form.mlir:2:8: error: custom op 'stablehlo.add' is in the custom form, which can be read only where the dialect 'stablehlo' is linked; convert it first: python -m commsched.jax.convert {{.*}}custom-form.mlir -o {{.*}}custom-form.generic.mlir"

// Operations of the tables have traits and effects, so that MLIR's passes
// optimize them: constants stay in the region that uses them.
// RUN: commsched-opt %s --inline --canonicalize --cse | FileCheck %s --check-prefix=OPT

module @step attributes {mhlo.num_partitions = 8 : i32} {
  // CHECK: "sdy.mesh"() <{mesh = #sdy.mesh<["dp"=8]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "dp", size = 8 : i64}]}} : () -> ()
  // OPT: "sdy.mesh"()
  "sdy.mesh"() <{mesh = #sdy.mesh<["dp"=8]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "dp", size = 8 : i64}]}} : () -> ()

  // CHECK-LABEL: func.func public @main
  // OPT-LABEL: func.func public @main
  func.func public @main(%w: tensor<64x32xf32>, %x: tensor<16x64xf32>) -> (tensor<16x32xf32>, tensor<f32>) {
    // Symbols are found through the regions of dialects by name.
    // CHECK: "sdy.manual_computation"(%{{.*}}, %{{.*}}) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"dp"}, {}]>, <@mesh, [{"dp"}, {}]>]>, manual_axes = #sdy<manual_axes{"dp"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"dp"}, {}]>, <@mesh, []>]>}> ({
    // OPT: "sdy.manual_computation"
    %0:2 = "sdy.manual_computation"(%w, %x) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"dp"}, {}]>, <@mesh, [{"dp"}, {}]>]>, manual_axes = #sdy<manual_axes{"dp"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"dp"}, {}]>, <@mesh, []>]>}> ({
    ^bb0(%shard: tensor<8x32xf32>, %rows: tensor<2x64xf32>):
      // CHECK: "stablehlo.all_gather"(%{{.*}}) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> {mhlo.frontend_attributes = {a = "b"}}
      // OPT: "stablehlo.constant"
      // OPT-NEXT: "stablehlo.all_gather"
      %full = "stablehlo.all_gather"(%shard) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> {mhlo.frontend_attributes = {a = "b"}} : (tensor<8x32xf32>) -> tensor<64x32xf32>
      // CHECK: precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]
      // OPT-NEXT: "stablehlo.dot_general"
      %y = "stablehlo.dot_general"(%rows, %full) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
      // An equal operation and an unused one.
      // OPT-NOT: "stablehlo.dot_general"
      // OPT-NOT: "stablehlo.tanh"
      %equal = "stablehlo.dot_general"(%rows, %full) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
      %unused = "stablehlo.tanh"(%y) : (tensor<2x32xf32>) -> tensor<2x32xf32>
      // CHECK: func.call @relu
      // OPT: "stablehlo.maximum"
      %r = func.call @relu(%y) : (tensor<2x32xf32>) -> tensor<2x32xf32>
      %z = "stablehlo.add"(%r, %equal) : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
      %zero = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      // OPT: "stablehlo.reduce"
      // OPT-NEXT: ^bb0
      // OPT-NEXT: "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}>
      %sum = "stablehlo.reduce"(%z, %zero) <{dimensions = array<i64: 0, 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %one = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
        %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        %t = "stablehlo.add"(%s, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%t) : (tensor<f32>) -> ()
      }) : (tensor<2x32xf32>, tensor<f32>) -> tensor<f32>
      // CHECK: "stablehlo.an_operation_of_tomorrow"
      %opaque = "stablehlo.an_operation_of_tomorrow"(%sum) : (tensor<f32>) -> tensor<f32>
      "sdy.return"(%z, %sum) : (tensor<2x32xf32>, tensor<f32>) -> ()
    }) : (tensor<64x32xf32>, tensor<16x64xf32>) -> (tensor<16x32xf32>, tensor<f32>)
    return %0#0, %0#1 : tensor<16x32xf32>, tensor<f32>
  }
  // CHECK-LABEL: func.func private @relu
  func.func private @relu(%arg0: tensor<2x32xf32>) -> tensor<2x32xf32> {
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x32xf32>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
    return %2 : tensor<2x32xf32>
  }
  // Types are kept as text.
  // CHECK-LABEL: func.func @types({{.*}}!stablehlo.token, %{{.*}}: !torch.vtensor<[2,3],f32>)
  func.func @types(%token: !stablehlo.token, %tensor: !torch.vtensor<[2,3],f32>) {
    return
  }
}
