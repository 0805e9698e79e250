// RUN: commsched-opt %s --pass-pipeline='builtin.module(builtin.module(func.func(commsched-estimate-runtime)))' | FileCheck %s

// The nearest specification counts; flags may be booleans. 2^30 bytes at half
// of 1 TB/s and a launch of 41 ns.
// CHECK-LABEL: @nested
// CHECK: commsched.runtime_ns = 2147525 : i64
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.preset" = "b200">>} {
  module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "GPU" = #dlti.target_device_spec<
      "commsched.nvls" = false,
      "commsched.memory_gb_s" = 1000 : i64,
      "commsched.memory_efficiency" = 0.5 : f64,
      "commsched.kernel_launch_ns" = 41.0 : f64>>} {
    func.func @nested(%x: tensor<134217728xf32>) {
      %0 = commsched.compute "aten.relu"(%x) : (tensor<134217728xf32>) -> tensor<134217728xf32>
      return
    }
  }
}
