// DEFINE: %{options} =
// DEFINE: %{run} = commsched-opt %s %{options}
// DEFINE: %{report} = --commsched-report=format=json -o /dev/null --remarks-filter=commsched 2>&1

// REDEFINE: %{options} = --test-commsched-steady-state="choose-implementations memory-budget=200%%"
// RUN: %{run} | FileCheck %s
// RUN: %{run} %{report} | FileCheck %s --check-prefix=CHOSEN
// REDEFINE: %{options} = --commsched-pipeline="steady-state memory-budget=200%%"
// RUN: %{run} %{report} | FileCheck %s --check-prefix=CHOSEN
// REDEFINE: %{options} = --commsched-pipeline="steady-state memory-budget=200%% choose-implementations=false"
// RUN: %{run} %{report} | FileCheck %s --check-prefix=FIRST

// Within a repetition the gather is exposed, so that the implementation of 10 us
// is the better one. The repetition before hides it, whichever it is, and copy
// engines of 50 us do not slow the 60 us of computation down: the tax is
// 10,003 * 0.5 / 1.5 ns.

// CHOSEN: StepRepeated | {{.*}}"a repetition takes 61000 ns instead of 70003, {{.*}}; collectives with another implementation: 1"
// CHOSEN: {"function":"step",{{.*}}"group":"dp","bytes":
// CHOSEN: {"function":"step_steady",{{.*}}"period_ns":61000,{{.*}}"implementation":"copy-engine"
// FIRST: {"function":"step_steady",{{.*}}"period_ns":64335,{{.*}}"compute_slowdown_ns":3335,

// The step itself, of which repetitions do not overlap, stays as it is.
// CHECK-LABEL: func.func @step(
// CHECK-NOT: commsched.implementation =
// CHECK-LABEL: func.func @step_prologue(
// CHECK: commsched.all_gather {{.*}}commsched.implementation = "copy-engine"
// CHECK-LABEL: func.func @step_steady(
// CHECK: commsched.all_gather {{.*}}commsched.implementation = "copy-engine"

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      nccl = {tax = 0.5, latency_us = 10.0, bandwidth_gb_s = 1000.0},
      "copy-engine" = {latency_us = 50.0, bandwidth_gb_s = 1000.0}}>>} {
  commsched.group @dp size(4)

  func.func @step(
      %w: tensor<256xf32> {commsched.carried = 0 : i64, commsched.role = "parameter"},
      %x: tensor<1024xf32> {commsched.role = "input"}) -> (tensor<256xf32>, tensor<1024xf32>) {
    %f = commsched.all_gather %w on @dp dim(0) : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
    %n = commsched.compute "adam"(%w, %x) {commsched.runtime_ns = 1000 : i64} : (tensor<256xf32>, tensor<1024xf32>) -> tensor<256xf32>
    %g = commsched.wait %f : !commsched.future<tensor<1024xf32>>
    %l = commsched.compute "mm"(%g, %x) {commsched.runtime_ns = 60000 : i64} : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    return %n, %l : tensor<256xf32>, tensor<1024xf32>
  }
}
