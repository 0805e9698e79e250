// RUN: commsched-opt %s --split-input-file --commsched-estimate-runtime | FileCheck %s
// RUN: commsched-opt %s --split-input-file --commsched-set-costs=target=a100 --commsched-estimate-runtime | FileCheck %s --check-prefix=A100
// RUN: not commsched-opt %s --commsched-set-costs=target=h1 --commsched-estimate-runtime 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not commsched-opt %s --commsched-estimate-runtime=model=ncc 2>&1 | FileCheck %s --check-prefix=MODEL

// UNKNOWN: error: there is no target 'h1'; there are a100, h100, h200, gh200, b200.
// UNKNOWN-NOT: func.func
// MODEL: for the --model option: Cannot find option named 'ncc'!
// MODEL-NOT: func.func

// Without a preset of its own, the module overrides that of the option: 2^30
// bytes at 3350 GB/s; on an A100, at 2039 GB/s.
// CHECK-LABEL: @preset_of_the_option
// CHECK: commsched.runtime_ns = 320520 : i64
// A100-LABEL: @preset_of_the_option
// A100: commsched.runtime_ns = 526602 : i64
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.memory_efficiency" = 1.0 : f64,
    "commsched.kernel_launch_ns" = 0 : i64>>} {
  func.func @preset_of_the_option(%x: tensor<134217728xf32>) {
    %0 = commsched.compute "aten.relu"(%x) : (tensor<134217728xf32>) -> tensor<134217728xf32>
    return
  }
}

// -----

// The option comes before the module's own preset, wherever it stands: 4800 GB/s
// without, 2039 with it. Keys of others are ignored, and so are other devices.
// CHECK-LABEL: @preset_of_the_module
// CHECK: commsched.runtime_ns = 223696 : i64
// A100-LABEL: @preset_of_the_module
// A100: commsched.runtime_ns = 526602 : i64
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "CPU" = #dlti.target_device_spec<"commsched.memory_gb_s" = 1.0 : f64>,
  "GPU" = #dlti.target_device_spec<
    "commsched.memory_efficiency" = 1.0 : f64,
    "commsched.kernel_launch_ns" = 0 : i64,
    "max_vector_op_width" = 128 : i64,
    "commsched.preset" = "h200">>} {
  func.func @preset_of_the_module(%x: tensor<134217728xf32>) {
    %0 = commsched.compute "aten.relu"(%x) : (tensor<134217728xf32>) -> tensor<134217728xf32>
    return
  }
}

// -----

// Without a specification: the preset with its launch and its efficiency, so
// longer than in the first case.
// CHECK-LABEL: @no_specification
// CHECK: commsched.runtime_ns = {{3[3-9][0-9]+}} : i64
func.func @no_specification(%x: tensor<134217728xf32>) {
  %0 = commsched.compute "aten.relu"(%x) : (tensor<134217728xf32>) -> tensor<134217728xf32>
  return
}
