// A collective of a size that is not static stays as it is, at an assumed price; with
// `strict`, it cannot be scheduled.
// RUN: commsched-opt %s -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched --commsched-pipeline=strict

func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{cannot be scheduled without its time: stablehlo.all_gather: the size of operand 0 of 'stablehlo.all_gather', a tensor<?x4xf32>, is not static; run commsched-estimate-runtime where sizes are static, or set commsched.runtime_ns on it}}
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

func.func @bounded(%x: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>> {
  // expected-error @below {{cannot be scheduled without its time: stablehlo.all_gather: the size of operand 0 of 'stablehlo.all_gather', a tensor<?x4xf32, #stablehlo.bounds<8, ?>>, is not static; run commsched-estimate-runtime where sizes are static, or set commsched.runtime_ns on it}}
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  return %r : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
}
