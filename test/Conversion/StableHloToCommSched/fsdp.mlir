// RUN: commsched-opt %s --convert-stablehlo-to-commsched \
// RUN:   --test-commsched-annotate-fsdp | FileCheck %s
// RUN: commsched-opt %s --convert-stablehlo-to-commsched \
// RUN:   '--commsched-bucket-all-gather=fsdp-only mode=coalesced' \
// RUN:   | FileCheck %s --check-prefix=BUCKETS

module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {

// What the outlined function gathers of its arguments are parameters: cast, and
// again in the backward, behind the barrier with which JAX keeps the two gathers
// from being merged.

// CHECK-LABEL: func.func private @step.manual_computation_0(
// CHECK: commsched.all_gather {{.*}} {commsched.fsdp = "parameter_gather", commsched.name = "all_gather.0"
// CHECK: commsched.all_gather {{.*}} {commsched.fsdp = "parameter_gather", commsched.name = "all_gather.1"
// CHECK: commsched.all_gather {{.*}} {commsched.fsdp = "parameter_gather", commsched.name = "all_gather.2"
// CHECK: commsched.all_gather {{.*}} {commsched.name = "all_gather.3"
// CHECK: commsched.reduce_scatter {{.*}} {commsched.fsdp = "gradient_scatter", commsched.name = "reduce_scatter.0"

// BUCKETS-LABEL: func.func private @step.manual_computation_0(
// BUCKETS: commsched.all_gather %{{.*}}, %{{.*}} on @replica_groups_0
func.func @step(%w: tensor<8x8xf32>, %v: tensor<8x8xf32>, %x: tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>) {
  %0:2 = "sdy.manual_computation"(%w, %v, %x) <{manual_axes = #sdy<manual_axes{"x"}>}> ({
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<8x8xbf16>):
    %1 = "stablehlo.convert"(%a) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4x8xbf16>) -> tensor<8x8xbf16>
    %3 = "stablehlo.convert"(%b) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %4 = "stablehlo.all_gather"(%3) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4x8xbf16>) -> tensor<8x8xbf16>
    %5 = "stablehlo.add"(%2, %4) : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
    %6:2 = "stablehlo.optimization_barrier"(%1, %5) : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> (tensor<4x8xbf16>, tensor<8x8xbf16>)
    %7 = "stablehlo.all_gather"(%6#0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4x8xbf16>) -> tensor<8x8xbf16>
    %8 = "stablehlo.all_gather"(%6#1) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<8x8xbf16>) -> tensor<16x8xbf16>
    %9 = "stablehlo.reduce_scatter"(%8) <{scatter_dimension = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):
      %r = "stablehlo.add"(%p, %q) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
      "stablehlo.return"(%r) : (tensor<bf16>) -> ()
    }) : (tensor<16x8xbf16>) -> tensor<8x8xbf16>
    "sdy.return"(%7, %9) : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> ()
  }) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>)
  return %0#0, %0#1 : tensor<8x8xbf16>, tensor<8x8xbf16>
}

}
