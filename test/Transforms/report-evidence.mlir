// RUN: split-file %s %t

// Every format says that it shows a simulation, for which target, and where the
// times come from.
// RUN: commsched-opt %t/plain.mlir -o /dev/null --commsched-report \
// RUN:   | FileCheck %s --check-prefix=PLAIN --strict-whitespace
// RUN: commsched-opt %t/plain.mlir -o /dev/null --commsched-report=format=json \
// RUN:   | FileCheck %s --check-prefix=PLAIN-JSON
// RUN: commsched-opt %t/plain.mlir -o /dev/null --commsched-report=format=trace \
// RUN:   | FileCheck %s --check-prefix=TRACE
// RUN: commsched-opt %t/plain.mlir -o /dev/null \
// RUN:   --commsched-report="format=html before=%t/step.mlir output=%t/page.html"
// RUN: FileCheck %s --check-prefix=PAGE --input-file=%t/page.html
//      PLAIN:{{^}}function @step
// PLAIN-NEXT:{{^}}  simulated: target h100; costs: model{{$}}
// PLAIN-NEXT:{{^}}  operations
// PLAIN-JSON: ,"target":"h100","costs":{"source":"model","ops":1,"measured_ops":0,"pinned_ops":0,"assumed_ops":0,"measured_percent":0},"unsized_values":0,"evidence":"simulated: target h100; costs: model"}
// TRACE: {"displayTimeUnit":"ns","otherData":{"@step":"simulated: target h100; costs: model"},"traceEvents":[
// PAGE: "before":{"figures":{{.*}}"evidence":"simulated: target h100 with 3 fields changed; costs: model (2 of 7 operations pinned)"},{{.*}}"after":{"figures":{{.*}}"evidence":"simulated: target h100; costs: model"},

// The target is the module's, for all that follows.
// RUN: commsched-opt %t/plain.mlir -o /dev/null --commsched-set-costs=target=b200 --commsched-report \
// RUN:   | FileCheck %s --check-prefix=B200
// RUN: commsched-opt %t/plain.mlir -o /dev/null \
// RUN:   --commsched-pipeline=target=b200 --commsched-report | FileCheck %s --check-prefix=B200
// B200: simulated: target b200; costs: model{{$}}

// Times that a pass has written are pinned: of which target is not known.
// RUN: %prints commsched-opt %t/plain.mlir -o /dev/null --commsched-set-costs=target=b200 --commsched-estimate-runtime --commsched-report \
// RUN:   '{{^}}  simulated: costs pinned in the program (commsched.runtime_ns){{$}}'
// RUN: %prints commsched-opt %t/plain.mlir -o /dev/null --commsched-estimate-runtime --commsched-report=format=json '"costs":{"source":"pinned","ops":1,"measured_ops":0,"pinned_ops":1,'

// What the module changes of the preset.
// RUN: %prints commsched-opt %t/changed.mlir -o /dev/null --commsched-report 'simulated: target a100 with memory_gb_s=4000, nic_gb_s=12.5; costs: model{{$}}'

// The collective, @mm by its name, the product and what the loop repeats are
// measured, 20 + 5 + 7 + 3 us, and 5 us are not: what is pinned, of which the
// shorter branch does not count, and the copy. The view and the constants take
// no time.
// RUN: commsched-opt %t/step.mlir -o /dev/null \
// RUN:   --commsched-set-costs=profile=%t/profile.json --commsched-report=format=json \
// RUN:   | FileCheck %s --check-prefix=PROFILE
// RUN: %prints commsched-opt %t/step.mlir -o /dev/null --commsched-report 'simulated: target h100 with 3 fields changed; costs: model (2 of 7 operations pinned){{$}}'
// PROFILE: "step_time_ns":40000,
// PROFILE-SAME: "target":"h100","target_changes":{"memory_gb_s":1,"memory_efficiency":1,"kernel_launch_ns":0},"costs":{"source":"profile","profile":"{{[^"]*}}profile.json","ops":7,"measured_ops":4,"pinned_ops":2,"assumed_ops":0,"measured_percent":87.5},"unsized_values":0,"evidence":"simulated: target h100 with 3 fields changed; costs: profile {{[^"]*}}profile.json (4 of 7 operations measured, 87.5 % of the time; 2 pinned)"}

//--- plain.mlir
func.func @step(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %y = commsched.compute "copy"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  return %y : tensor<1024xf32>
}

//--- changed.mlir
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "GPU" = #dlti.target_device_spec<
      "commsched.nic_gb_s" = 12.5, "commsched.preset" = "a100",
      "commsched.memory_gb_s" = 4000>>} {
  func.func @step(%x: tensor<1024xf32>) -> tensor<1024xf32> {
    %y = commsched.compute "copy"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
    return %y : tensor<1024xf32>
  }
}

//--- step.mlir
!t = tensor<64x64xf32>

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
    "GPU" = #dlti.target_device_spec<
      "commsched.memory_gb_s" = 1, "commsched.memory_efficiency" = 1,
      "commsched.kernel_launch_ns" = 0>>} {
  commsched.group @g size(4)
  func.func @step(%a: tensor<64xf32>, %m: tensor<64x64xf32>, %c: i1,
                  %x: tensor<500xi8>)
      -> (tensor<256xf32>, tensor<64x64xf32>, tensor<500xi8>) {
    %low = arith.constant 0 : index
    %high = arith.constant 3 : index
    %one = arith.constant 1 : index
    %f = commsched.all_gather %a on @g dim(0) : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<256xf32>>
    %n = commsched.compute "mm"(%m, %m) {commsched.name = "mm"} : (!t, !t) -> !t
    %p = linalg.matmul ins(%m, %m : !t, !t) outs(%n : !t) -> !t
    %r = scf.for %i = %low to %high step %one iter_args(%v = %p) -> !t {
      %next = commsched.compute "looped"(%v) {commsched.name = "looped"} : (!t) -> !t
      scf.yield %next : !t
    }
    %b = scf.if %c -> !t {
      %t = commsched.compute "short"(%r) {commsched.runtime_ns = 2000} : (!t) -> !t
      scf.yield %t : !t
    } else {
      %e = commsched.compute "long"(%r) {commsched.runtime_ns = 3000} : (!t) -> !t
      scf.yield %e : !t
    }
    %view = tensor.collapse_shape %b [[0, 1]] : !t into tensor<4096xf32>
    %back = tensor.expand_shape %view [[0, 1]] output_shape [64, 64] : tensor<4096xf32> into !t
    %q = commsched.compute "relu"(%back) {commsched.runtime_ns = 1000} : (!t) -> !t
    %y = commsched.compute "copy"(%x) : (tensor<500xi8>) -> tensor<500xi8>
    return %w, %q, %y : tensor<256xf32>, !t, tensor<500xi8>
  }
}

//--- profile.json
{"rows": [{"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 1024,
           "time_ns": 20000}],
 "products": [{"type": "f32", "m": 64, "n": 64, "k": 64, "time_ns": 7000}],
 "operations": [
   {"operator": "mm", "name": "mm", "time_ns": 5000},
   {"operator": "looped", "name": "looped", "time_ns": 1000}]}
