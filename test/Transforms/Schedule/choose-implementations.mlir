// RUN: %rows %s > %t.rows && split-file %t.rows %t
// RUN: commsched-opt %t/hidden.mlir --test-commsched-choose-implementations --commsched-report --remarks-filter=commsched 2>&1 | FileCheck %t/hidden.mlir
// RUN: commsched-opt %t/kept.mlir --test-commsched-choose-implementations --remarks-filter=commsched 2>&1 | FileCheck %t/kept.mlir
// RUN: commsched-opt %t/hidden.mlir --commsched-pipeline | FileCheck %t/hidden.mlir --check-prefix=PIPELINE
// RUN: commsched-opt %t/hidden.mlir --commsched-pipeline=choose-implementations=false | FileCheck %t/hidden.mlir --check-prefix=OFF
// RUN: commsched-opt %t/unlisted.mlir --commsched-set-costs=profile=%t/profile.json --test-commsched-choose-implementations | FileCheck %t/unlisted.mlir
// RUN: commsched-opt %t/unlisted.mlir --test-commsched-choose-implementations | FileCheck %t/unlisted.mlir --check-prefix=NONE
// RUN: %fails commsched-opt %t/hidden.mlir --test-commsched-choose-implementations=memory-budget=much "option 'memory-budget' of pass 'test-commsched-choose-implementations'"

// RUN: commsched-opt %examples/implementations.mlir --commsched-pipeline --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=EXAMPLE

// The second gather starts when the first one has ended: they share a link.
// EXAMPLE: "step_time_ns":338934,
// EXAMPLE-SAME: "name":"first","kind":"all_gather","group":"dp","bytes":16777216,"start_ns":0,"end_ns":68934,
// EXAMPLE-SAME: "name":"second","kind":"all_gather","group":"dp","implementation":"copy-engine","bytes":16777216,"start_ns":68934,


//--- hidden.mlir
// Computation of 100 us hides the gather, however long it takes: what slows the
// computation down is what counts.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      nccl = {tax = 0.5, latency_us = 10.0, bandwidth_gb_s = 1000.0},
      "copy-engine" = {latency_us = 50.0, bandwidth_gb_s = 1000.0}}>>} {
  commsched.group @dp size(4)

  // CHECK: remark: [Passed] ImplementationsChosen {{.*}}"the step takes 100000 ns instead of 103{{[0-9]+}}: 1 by copy-engine"
  // CHECK-LABEL: func.func @hidden
  // CHECK: commsched.all_gather {{.*}}commsched.implementation = "copy-engine"
  // OFF: commsched.all_gather {{.*}} :
  // OFF-NOT: commsched.implementation =
  // PIPELINE: commsched.all_gather {{.*}}commsched.implementation = "copy-engine"
  func.func @hidden(%a: tensor<256xf32>, %x: tensor<1024xf32>)
      -> (tensor<1024xf32>, tensor<1024xf32>) {
    %0 = commsched.all_gather %a on @dp dim(0)
        : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
    %1 = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 100000 : i64}
        : (tensor<1024xf32>) -> tensor<1024xf32>
    %2 = commsched.wait %0 : !commsched.future<tensor<1024xf32>>
    return %1, %2 : tensor<1024xf32>, tensor<1024xf32>
  }
}

//--- kept.mlir
// A collective that names an implementation keeps it; one with a pinned time
// would take that with any; one of the wrong kind, size or group has no choice;
// and two programs carry out the ends of a message.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      nccl = {tax = 0.5, latency_us = 10.0, bandwidth_gb_s = 1000.0},
      "copy-engine" = {latency_us = 1.0, bandwidth_gb_s = 1000.0, max_bytes = 4096 : i64},
      other = {method = "nccl", latency_us = 1.0, bandwidth_gb_s = 1000.0,
               collectives = ["send", "recv"]}}>>} {
  commsched.group @dp size(4)
  commsched.group @wide size(16) ranks_per_node(8)
  commsched.group @alone size(1)

  // CHECK-LABEL: func.func @kept
  // CHECK: all_gather {{.*}}commsched.implementation = "nccl", commsched.name = "named"
  // CHECK: all_gather {{.*}}{commsched.name = "pinned"
  // CHECK: all_gather {{.*}}{commsched.name = "large"
  // CHECK: all_gather {{.*}}{commsched.name = "wide"
  // CHECK: all_gather {{.*}}{commsched.name = "alone"
  // CHECK: all_reduce {{.*}}{commsched.name = "reduced"
  // CHECK: commsched.send {{.*}}{commsched.name = "sent"
  func.func @kept(%a: tensor<256xf32>, %b: tensor<1024xf32>) {
    $run(%w1 = all_gather %a on @dp dim(0) {commsched.implementation = "nccl", commsched.name = "named"} : tensor<256xf32> -> tensor<1024xf32>)
    $run(%w3 = all_gather %a on @dp dim(0) {commsched.name = "pinned", commsched.runtime_ns = 9 : i64} : tensor<256xf32> -> tensor<1024xf32>)
    $run(%w5 = all_gather %b on @dp dim(0) {commsched.name = "large"} : tensor<1024xf32> -> tensor<4096xf32>)
    $run(%w7 = all_gather %a on @wide dim(0) {commsched.name = "wide"} : tensor<256xf32> -> tensor<4096xf32>)
    $run(%w9 = all_gather %a on @alone dim(0) {commsched.name = "alone"} : tensor<256xf32> -> tensor<256xf32>)
    $run(%w11 = all_reduce %a on @dp reduction(sum) {commsched.name = "reduced"} : tensor<256xf32> -> tensor<256xf32>)
    %12 = commsched.send %a on @dp to(1) {commsched.name = "sent"} : tensor<256xf32> -> !commsched.future
    commsched.wait %12 : !commsched.future
    return
  }
}

//--- unlisted.mlir
commsched.group @dp size(4)

// CHECK: commsched.all_gather {{.*}}commsched.implementation = "symmetric"
// NONE: commsched.all_gather
// NONE-NOT: commsched.implementation
func.func @unlisted(%a: tensor<256xf32>) -> tensor<1024xf32> {
  $run(%w = all_gather %a on @dp dim(0) : tensor<256xf32> -> tensor<1024xf32>)
  return %w : tensor<1024xf32>
}

//--- profile.json
{"implementations": {"symmetric": {"tax": 0.1}},
 "rows": [{"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 4096,
           "time_ns": 500, "implementation": "symmetric"}]}
