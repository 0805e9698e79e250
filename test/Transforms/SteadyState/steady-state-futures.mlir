// RUN: commsched-opt %s --test-commsched-steady-state="memory-budget=200%% max-depth=2" \
// RUN:   | FileCheck %s --enable-var-scope
// RUN: commsched-opt %s -o /dev/null --remarks-filter=commsched \
// RUN:   --test-commsched-steady-state="memory-budget=200%% max-depth=2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// A reduction that takes longer than either operator is in flight from one call
// to the next. Constants are not part of the state.

commsched.group @dp size(8)

// REMARK: [Passed] StepRepeated | {{.*}}Function=average | {{.*}}PeriodBoundNs=60, PeriodNsAfter=60, PeriodNsBefore=100
// CHECK-LABEL: func.func @average(
// CHECK:       func.func @average_prologue({{.*}}) -> (tensor<64xf32>, !commsched.future<tensor<64xf32>>)
// CHECK:       func.func @average_steady({{.*}}%{{[a-z0-9]+}}: tensor<64xf32> {commsched.freeable}
// CHECK-SAME:    %[[PENDING:[a-z0-9]+]]: !commsched.future<tensor<64xf32>>,
// CHECK:         arith.constant dense<2.0
// CHECK:         commsched.wait %[[PENDING]]
// CHECK:         %[[NEXT:.+]] = commsched.all_reduce
// CHECK:         return %{{.+}}, %[[NEXT]] :
// CHECK:       func.func @average_epilogue(
func.func @average(%m: tensor<64xf32> {commsched.carried = 0},
    %x: tensor<64xf32> {commsched.role = "input"}) -> tensor<64xf32> {
  %two = arith.constant dense<2.0> : tensor<64xf32>
  %b = commsched.compute "f"(%x, %two) {commsched.runtime_ns = 30} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %r = commsched.all_reduce %b on @dp reduction(sum) {commsched.runtime_ns = 40} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %d = commsched.wait %r : !commsched.future<tensor<64xf32>>
  %n = commsched.compute "g"(%m, %d) {commsched.runtime_ns = 30} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %n : tensor<64xf32>
}
