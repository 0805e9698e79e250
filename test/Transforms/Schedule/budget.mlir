// DEFINE: %{run} = commsched-opt %s %remarks -o %t --commsched-schedule=

// The program takes 1,001 bytes. What is in flight beside "large" takes 100 more.

// RUN: %{run}memory-budget=0%% 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: FileCheck %s --check-prefix=PROGRAM < %t
// RUN: %{run}memory-budget=1100 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: %{run}memory-budget=9%% 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: %{run}memory-budget=10%% 2>&1 | FileCheck %s --check-prefix=HIDDEN
// RUN: FileCheck %s --check-prefix=OVERLAP < %t
// RUN: %{run}"memory-budget=1101 strict" 2>&1 | FileCheck %s --check-prefix=HIDDEN

// The baseline is that of the first input, so that a second run with the same
// percentage is held to the same budget, and one with a smaller percentage to
// less.
// RUN: commsched-opt %t --commsched-schedule="memory-budget=10%%" | diff %t -
// RUN: commsched-opt %t --commsched-schedule=memory-budget=0%% %remarks 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SECOND

// KEPT: BlockKept
// KEPT-SAME: which takes 250 ns and 1001 bytes, for a budget of 1{{001|091|100}}
// PROGRAM: func.func @step(%{{[^{]*}}{
// HIDDEN: BlockScheduled
// HIDDEN-SAME: the step takes 150 ns instead of 250, and 1101 bytes instead of 1001, for a budget of 1101
// OVERLAP: func.func @step({{.*}}attributes {commsched.baseline_peak_bytes = 1001 : i64}
// OVERLAP-NEXT: commsched.all_reduce
// OVERLAP-NEXT: compute "large"
// SECOND: for a budget of 1001

commsched.group @g size(2)

func.func @step(%x: tensor<100xi8>) -> (tensor<100xi8>, tensor<1xi8>) {
  %l = commsched.compute "large"(%x) {commsched.runtime_ns = 100}
      : (tensor<100xi8>) -> tensor<900xi8>
  %s = commsched.compute "small"(%l) {commsched.runtime_ns = 50} : (tensor<900xi8>) -> tensor<1xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.runtime_ns = 100}
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<100xi8>>
  return %w, %s : tensor<100xi8>, tensor<1xi8>
}
