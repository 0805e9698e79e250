// Schedules are simulated with costs that are off, alike on every platform.

// REQUIRES: benchmarks
// RUN: commsched-noise %s --draws=3 --pipeline=input= \
// RUN:   --pipeline='overlap=func.func(commsched-simple-overlap)' \
// RUN:   --pipeline='merged=func.func(commsched-bucket-all-gather{mode=coalesced})' > %t
// RUN: FileCheck %s < %t
// RUN: %python -c 'import json; \
// RUN:   rows = [json.loads(line) for line in open("%t")]; \
// RUN:   print(*(round(time * 1e5 / row["nominal_ns"]) \
// RUN:     for row in rows for time in row["drawn_ns"]))' \
// RUN:   | FileCheck %s --check-prefix=FACTORS

// RUN: not commsched-noise %s --draws=0 --pipeline=input= 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE
// NONE: the option 'draws' must be at least 1
// RUN: not commsched-noise %s --pipeline=none=no-such-pass 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PASS
// PASS: 'no-such-pass' does not refer to a registered pass or pass pipeline

// CHECK: "drawn_ns":[105338,94982,89747],"median_ns":94982,{{.*}}"nominal_ns":90129,"p95_ns":105338,"peak_memory_bytes":21053440,"pipeline":"input",{{.*}}"worst_ns":105338
// CHECK: "drawn_ns":[105338,94982,89747],{{.*}}"pipeline":"overlap"
// CHECK: "collectives":1,{{.*}}"pipeline":"merged"
// FACTORS: 11687{{[0-9]}} 10538{{[0-9]}} 9957{{[0-9]}} 11687{{[0-9]}} 10538{{[0-9]}} 9957{{[0-9]}} 11687{{[0-9]}} 10538{{[0-9]}} 9957{{[0-9]}}

commsched.group @dp size(4)

// Nothing hides a gather but another one, so the step is the sum of both. What
// is merged is off by the mean of its members, weighted by their costs: the
// draws of the third schedule are off by as much as those of the first.
func.func @step(%a: tensor<4096xf32>, %b: tensor<1048576xf32>)
    -> (tensor<16384xf32>, tensor<4194304xf32>) {
  %0 = commsched.all_gather %a on @dp dim(0) {commsched.name = "a"}
      : tensor<4096xf32> -> !commsched.future<tensor<16384xf32>>
  %1 = commsched.all_gather %b on @dp dim(0)
      : tensor<1048576xf32> -> !commsched.future<tensor<4194304xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<16384xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<4194304xf32>>
  return %2, %3 : tensor<16384xf32>, tensor<4194304xf32>
}
