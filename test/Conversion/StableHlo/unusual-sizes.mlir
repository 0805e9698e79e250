// Sizes that are not static. Such collectives stay as they are, at an assumed
// price; with `strict`, they cannot be scheduled.
// RUN: commsched-opt %s -split-input-file -o %t.plain
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched \
// RUN:   --convert-commsched-to-stablehlo -o %t.back
// RUN: diff %t.plain %t.back
// RUN: commsched-opt %s -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched --commsched-pipeline=strict
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched \
// RUN:   --commsched-pipeline -o %t.scheduled
// RUN: commsched-opt %t.scheduled -split-input-file \
// RUN:   --convert-commsched-to-stablehlo -o %t.back
// RUN: diff %t.plain %t.back
// RUN: commsched-opt %s -split-input-file --convert-stablehlo-to-commsched \
// RUN:   --remarks-filter=commsched -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// REMARK: stablehlo.all_reduce is not converted: tensor<?x4xf32> has a dynamic size
func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{cannot be scheduled without its time: stablehlo.all_reduce: the size of operand 0 of 'stablehlo.all_reduce', a tensor<?x4xf32>, is not static; run commsched-estimate-runtime where sizes are static, or set commsched.runtime_ns on it}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

// REMARK: stablehlo.all_gather is not converted: tensor<?x4xf32> has a dynamic size
func.func @dynamic_gather(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{cannot be scheduled without its time: stablehlo.all_gather: the size of operand 0 of 'stablehlo.all_gather', a tensor<?x4xf32>, is not static; run commsched-estimate-runtime where sizes are static, or set commsched.runtime_ns on it}}
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

// REMARK: stablehlo.all_reduce is not converted: tensor<?x4xf32, #stablehlo.bounds<8, ?>> has a dynamic size
func.func @bounded(%x: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>> {
  // expected-error @below {{cannot be scheduled without its time: stablehlo.all_reduce: the size of operand 0 of 'stablehlo.all_reduce', a tensor<?x4xf32, #stablehlo.bounds<8, ?>>, is not static; run commsched-estimate-runtime where sizes are static, or set commsched.runtime_ns on it}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  return %r : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
}

// -----

// REMARK: stablehlo.all_reduce is not converted: tensor<*xf32> is no ranked tensor
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error @below {{cannot be scheduled without its time: stablehlo.all_reduce: the size of operand 0 of 'stablehlo.all_reduce', a tensor<*xf32>, is not static; run commsched-estimate-runtime where sizes are static, or set commsched.runtime_ns on it}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<*xf32>) -> tensor<*xf32>
  return %r : tensor<*xf32>
}
