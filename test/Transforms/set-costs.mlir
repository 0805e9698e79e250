// Target and profile hold for all that follows, and an option wins over what the
// module says.
// RUN: split-file %s %t

// RUN: commsched-opt %t/step.mlir -o /dev/null \
// RUN:   --commsched-pipeline=target=b200 --commsched-report=format=json \
// RUN:   --commsched-dump-problem=%t/problem.json \
// RUN:   --commsched-export-chakra=%t/traces | FileCheck %s --check-prefix=B200
// RUN: FileCheck %s --check-prefix=PROBLEM < %t/problem.json
// RUN: %prints commsched-opt %t/step.mlir -o /dev/null --commsched-report=format=json --commsched-export-chakra=%t/usual '"compute_time_ns":{{4[0-9]+}},{{.*}}"target":"h100"'
// RUN: not cmp %t/usual/step.0.et %t/traces/step.0.et
// 2^26 bytes are read and written.
// B200: "compute_time_ns":20368,{{.*}}"target":"b200"
// PROBLEM: "nodes":{{\[\[}}"compute",20368,

// The pass writes a specification, or completes that of the module.
// RUN: %prints commsched-opt %t/step.mlir --commsched-set-costs=target=b200 \
// RUN:   'module attributes {dlti.target_system_spec = #dlti.target_system_spec<"GPU" = #dlti.target_device_spec<"commsched.preset" = "b200">>}'
// RUN: commsched-opt %t/described.mlir --commsched-set-costs=target=b200 \
// RUN:   --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=REPLACED
// REPLACED: remark: {{.*}}TargetReplaced {{.*}}the target 'b200' replaces the module's {{.}}a100{{.}}, as the option says
// REPLACED: #dlti.target_system_spec<"CPU" = #dlti.target_device_spec<"cores" = 8 : i64>, "GPU" = #dlti.target_device_spec<"commsched.memory_gb_s" = 4000 : i64, "commsched.preset" = "b200">>

// The profile is on the module by its content, and what it measured is on the
// operations that it names.
// RUN: commsched-opt %t/step.mlir --commsched-set-costs=profile=%t/profile.json -o %t/profiled.mlir
// RUN: FileCheck %s --check-prefix=PROFILE < %t/profiled.mlir
// PROFILE: module attributes {commsched.profile = {file = "{{.*}}profile.json", operations = [{function = "step", name = "work", operator = "copy", time_ns = 5000 : i64}], rows = []}}
// PROFILE: commsched.measured_ns = 5000 : i64, commsched.name = "work"

// It holds under another name, without the file, and the report says that the
// time is measured.
// RUN: sed 's/@step/@renamed/' %t/profiled.mlir \
// RUN:   | commsched-opt -o /dev/null --commsched-report | FileCheck %s --check-prefix=RENAMED
// RENAMED: simulated: target h100; costs: profile {{.*}}profile.json (1 of 1 operations measured, 100.0 % of the time)

// A second profile takes the place of the first, and a report of another module
// for comparison takes the costs of this one.
// RUN: commsched-opt %t/profiled.mlir --commsched-set-costs=profile=%t/other.json \
// RUN:   --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: commsched-opt %t/profiled.mlir -o /dev/null \
// RUN:   --commsched-estimate-runtime=profile=%t/other.json --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ESTIMATE
// RUN: commsched-opt %t/profiled.mlir -o /dev/null \
// RUN:   --commsched-report="format=html before=%t/step.mlir output=%t/page.html"
// RUN: FileCheck %s --check-prefix=PAGE < %t/page.html
// OTHER: remark: {{.*}}ProfileReplaced {{.*}}the profile '{{.*}}other.json' replaces the module's '{{.*}}profile.json', as the option says
// OTHER: warning: the profile '{{.*}}other.json' is of another module: none of the operations that it names, such as 'mm' 'product' of 'forward', is in this one
// OTHER-NOT: commsched.measured_ns
// ESTIMATE: remark: {{.*}}ProfileReplaced {{.*}}the times are those of '{{.*}}other.json', as the option says, and not of the module's profile
// PAGE: "before":{"figures":{{.*}}"step_time_ns":5000

// RUN: %fails commsched-opt %t/step.mlir --commsched-set-costs=target=abacus "error: there is no target 'abacus'; there are a100, h100, h200, gh200, b200. Another machine is one of them with fields of its own"
// RUN: %fails commsched-opt %t/step.mlir --commsched-set-costs=profile=%t/none.json "error: option 'profile' of pass 'commsched-set-costs' cannot be used: cannot read cost table '{{.*}}none.json'"
// RUN: %fails commsched-opt %t/step.mlir --commsched-report=target=b200 'no such option target'

// Functions that are merged keep the times of both, whose operations had equal
// names; and a profile of the parts fits the merged step.
// RUN: commsched-opt %t/parts.mlir --commsched-set-costs=profile=%t/parts.json \
// RUN:   --test-commsched-merge-step | FileCheck %s --check-prefix=MERGED
// RUN: commsched-opt %t/parts.mlir --test-commsched-merge-step \
// RUN:   --commsched-set-costs=profile=%t/parts.json | FileCheck %s --check-prefix=MERGED
// MERGED: "copy"({{.*}}) {commsched.graph = "first", commsched.measured_ns = 11 : i64, commsched.name = "work"}
// MERGED: "copy"({{.*}}) {commsched.graph = "second", commsched.graph_name = "work", commsched.measured_ns = 22 : i64, commsched.name = "second.work"}

// What a collective took is the price of what carried it out then. Another
// implementation can be chosen, and the measured one can be kept.
// RUN: %prints commsched-opt %t/gather.mlir --commsched-set-costs=profile=%t/slow.json --test-commsched-choose-implementations \
// RUN:   'commsched.implementation = "copy-engine", commsched.measured_ns = {nccl = 90000 : i64}'
// RUN: commsched-opt %t/gather.mlir --commsched-set-costs=profile=%t/fast.json \
// RUN:   --test-commsched-choose-implementations | FileCheck %s --check-prefix=FAST
// FAST-NOT: commsched.implementation =
// FAST: commsched.measured_ns = {"copy-engine" = 90000 : i64, nccl = 100 : i64}
// FAST-NOT: commsched.implementation =

//--- step.mlir
func.func @step(%x: tensor<16777216xf32>) -> tensor<16777216xf32> {
  %y = commsched.compute "copy"(%x) {commsched.name = "work"}
      : (tensor<16777216xf32>) -> tensor<16777216xf32>
  return %y : tensor<16777216xf32>
}

//--- described.mlir
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "CPU" = #dlti.target_device_spec<"cores" = 8>,
    "GPU" = #dlti.target_device_spec<
      "commsched.preset" = "a100", "commsched.memory_gb_s" = 4000>>} {
}

//--- profile.json
{"operations": [{"operator": "copy", "name": "work", "function": "step",
                 "time_ns": 5000}], "rows": []}

//--- other.json
{"operations": [{"operator": "mm", "name": "product", "function": "forward",
                 "time_ns": 1}], "rows": []}

//--- parts.mlir
func.func private @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = commsched.compute "copy"(%x) {commsched.name = "work"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @first(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = call @second(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
func.func private @second(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = commsched.compute "copy"(%x) {commsched.name = "work"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- parts.json
{"operations": [
  {"operator": "copy", "name": "work", "function": "first", "time_ns": 11},
  {"operator": "copy", "name": "work", "function": "second", "time_ns": 22}],
 "rows": []}

//--- gather.mlir
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      "copy-engine" = {latency_us = 20.0, bandwidth_gb_s = 1000.0}}>>} {
  commsched.group @dp size(4)
  func.func @step(%a: tensor<256xf32>) -> tensor<1024xf32> {
    %0 = commsched.all_gather %a on @dp dim(0) {commsched.name = "gather"}
        : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<1024xf32>>
    return %1 : tensor<1024xf32>
  }
}

//--- slow.json
{"operations": [{"operator": "commsched.all_gather", "name": "gather",
                 "time_ns": 90000}], "rows": []}

//--- fast.json
{"operations": [{"operator": "commsched.all_gather", "name": "gather",
                 "time_ns": 100},
                {"operator": "commsched.all_gather", "name": "gather",
                 "implementation": "copy-engine", "time_ns": 90000}],
 "rows": []}
