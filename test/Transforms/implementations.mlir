// RUN: commsched-opt %s --commsched-estimate-runtime | FileCheck %s
// RUN: commsched-opt %s --commsched-estimate-runtime --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=REPORT
// RUN: commsched-opt %s --commsched-report -o /dev/null | FileCheck %s --check-prefix=TEXT

// Collectives of one group run on a stream for each implementation, share the
// link of the node, and slow computation down by the largest tax in flight.

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      nccl = {tax = 0.5},
      "copy-engine" = {tax = 0.1, latency_us = 1.0, bandwidth_gb_s = 1.0}}>>} {
  commsched.group @dp size(4)

  // 1 us, and 3/4 of 4096 bytes at a byte each nanosecond.
  // CHECK-LABEL: @step
  // CHECK: commsched.all_gather {{.*}}commsched.implementation = "copy-engine"{{.*}}commsched.runtime_ns = 4072 : i64
  // REMARK: "commsched.all_gather 'copied': by the latency and bandwidth of its implementation"

  // Both are on the link at once until the second one has ended, at 2000 ns
  // instead of 1000: the copied one ends 1000 ns later than alone. Computation
  // progresses by 2000 / 1.5 ns until then, and then takes 1.1 times as long.
  // REPORT: "step_time_ns":5072,"compute_time_ns":3000,
  // REPORT-SAME: "name":"copied","kind":"all_gather","group":"dp","implementation":"copy-engine","bytes":4096,
  // REPORT-SAME: "name":"all_gather_1","kind":"all_gather","group":"dp","bytes":4096,
  // REPORT-SAME: "compute_slowdown_ns":834,
  // TEXT: copied{{ +}}all_gather{{ +}}dp (copy-engine)
  func.func @step(%a: tensor<256xf32>, %x: tensor<1024xf32>)
      -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) {
    %0 = commsched.all_gather %a on @dp dim(0)
        {commsched.implementation = "copy-engine", commsched.name = "copied"}
        : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
    %1 = commsched.all_gather %a on @dp dim(0) {commsched.runtime_ns = 1000 : i64}
        : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
    %2 = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 3000 : i64}
        : (tensor<1024xf32>) -> tensor<1024xf32>
    %3 = commsched.wait %0 : !commsched.future<tensor<1024xf32>>
    %4 = commsched.wait %1 : !commsched.future<tensor<1024xf32>>
    return %2, %3, %4 : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
}
