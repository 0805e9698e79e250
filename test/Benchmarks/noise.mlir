// Schedules are simulated with costs that are off, alike for all of them.

// REQUIRES: benchmarks
// RUN: %python %src/benchmarks/noise/run.py %s --opt commsched-opt --draws=3 \
// RUN:   --ways 'input|block' | FileCheck %s
// CHECK:      | noise | input | {{.*}} | 1.0497 | 1.1127 |
// CHECK-NEXT: | noise | buckets by block | {{.*}} | 1.0497 | 1.1127 |

// RUN: %fails %python %src/benchmarks/noise/run.py %s --draws=0 '--draws: {{.*}}0'
// RUN: %fails %python %src/benchmarks/noise/run.py %t.mlir --opt commsched-opt 'error: cannot open input file {{.*}}.mlir'

commsched.group @dp size(4)

// Nothing hides a gather but another one, so the step is the sum of both. What is
// merged is off by the mean of its members, weighted by their costs.
func.func @step(%a: tensor<4096xf32>, %b: tensor<1048576xf32>)
    -> (tensor<16384xf32>, tensor<4194304xf32>) {
  %0 = commsched.all_gather %a on @dp dim(0) {commsched.name = "a"}
      : tensor<4096xf32> -> !commsched.future<tensor<16384xf32>>
  %1 = commsched.all_gather %b on @dp dim(0) {commsched.name = "b"}
      : tensor<1048576xf32> -> !commsched.future<tensor<4194304xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<16384xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<4194304xf32>>
  return %2, %3 : tensor<16384xf32>, tensor<4194304xf32>
}
