// RUN: commsched-opt %s \
// RUN:   --test-commsched-steady-state=memory-budget=200%% | %orders | FileCheck %s
// RUN: commsched-opt %s -o /dev/null \
// RUN:   --test-commsched-steady-state=memory-budget=200%% --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// The reduction runs beside the first operator of the next repetition, and the
// gather of the next repetition beside its second. The future of neither crosses
// the boundary; what the operators have computed does.

commsched.group @dp size(8)

// REMARK: [Passed] StepRepeated | {{.*}}Function=step | {{.*}}Depth=2, PeakBytesAfter=1081344, PeakBytesBefore=819200, PeriodBoundNs=115, PeriodNsAfter=115, PeriodNsBefore=125, Remark="a repetition takes 115 ns instead of 125, of at least 115 (the computation), with 2 repetitions in progress
// CHECK-LABEL: func.func @step(
// CHECK:       func.func @step_prologue(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<32x256xf32> {commsched.freeable, commsched.name = "w", commsched.role = "parameter", commsched.step_argument = 0 : i64}
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<256x256xf32> {commsched.name = "x", commsched.repetition = 0 : i64, commsched.role = "input", commsched.step_argument = 1 : i64}
// CHECK-SAME:    %[[K:[a-z0-9]+]]: tensor<256x256xf32> {commsched.step_argument = 2 : i64})
// CHECK-SAME:    commsched.steady_state = {depth = 2 : i64, role = "prologue", step = @step}
// CHECK-NEXT:    // order: embed gather.prologue.0 attend wait{{$}}
// CHECK:         return %[[W]], %{{.*}}, %{{.*}} :
// CHECK:       func.func @step_steady(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<32x256xf32> {commsched.freeable, commsched.name = "w", commsched.role = "parameter"}
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<256x256xf32> {commsched.freeable}
// CHECK-SAME:    %[[G:[a-z0-9]+]]: tensor<256x256xf32> {commsched.freeable}
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<256x256xf32> {{{.*}}commsched.step_argument = 1 : i64}
// CHECK-SAME:    %[[K:[a-z0-9]+]]: tensor<256x256xf32> {commsched.step_argument = 2 : i64})
// CHECK-SAME:    tensor<256x256xf32> {commsched.name = "loss", commsched.repetition = 0 : i64, commsched.step_result = 0 : i64})
// CHECK-NEXT:    // order: mm reduce embed wait adam gather attend wait{{$}}
// CHECK:       func.func @step_epilogue(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<32x256xf32>
// CHECK-SAME:    -> (tensor<256x256xf32> {commsched.name = "loss", commsched.repetition = 0 : i64, commsched.step_result = 0 : i64},
// CHECK-SAME:        tensor<32x256xf32> {commsched.repetition = 0 : i64, commsched.step_result = 1 : i64})
// CHECK-NEXT:    // order: mm reduce.epilogue.0 wait adam{{$}}
func.func @step(
    %w: tensor<32x256xf32> {commsched.name = "w", commsched.role = "parameter", commsched.freeable,
      commsched.carried = 1 : i64},
    %x: tensor<256x256xf32> {commsched.name = "x", commsched.role = "input"},
    %k: tensor<256x256xf32>)
    -> (tensor<256x256xf32> {commsched.name = "loss"}, tensor<32x256xf32>) {
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 30 : i64, commsched.name = "gather"} : tensor<32x256xf32> -> !commsched.future<tensor<256x256xf32>>
  %e = commsched.compute "embed"(%x, %k) {commsched.runtime_ns = 15 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %a = commsched.compute "attend"(%e, %k) {commsched.runtime_ns = 45 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %g = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
  %b = commsched.compute "mm"(%a, %g) {commsched.runtime_ns = 50 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %r = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) {commsched.runtime_ns = 10 : i64, commsched.name = "reduce"} : tensor<256x256xf32> -> !commsched.future<tensor<32x256xf32>>
  %d = commsched.wait %r : !commsched.future<tensor<32x256xf32>>
  %n = commsched.compute "adam"(%w, %d) {commsched.runtime_ns = 5 : i64} : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<32x256xf32>
  return %b, %n : tensor<256x256xf32>, tensor<32x256xf32>
}

// Where the period gets shorter within one repetition, the operations of the
// step get another order, and nothing is added.

// REMARK: [Passed] StepRepeated | {{.*}}Function=late | {{.*}}Depth=1, {{.*}}PeriodBoundNs=100, PeriodNsAfter=100, PeriodNsBefore=140
// CHECK-LABEL: func.func @late(
// CHECK-NEXT:    // order: arith.constant all_reduce f wait g{{$}}
// CHECK-NOT:   func.func
func.func @late(%m: tensor<64xf32> {commsched.carried = 0}, %x: tensor<64xf32>
    {commsched.role = "input"}) -> tensor<64xf32> {
  %two = arith.constant dense<2.0> : tensor<64xf32>
  %b = commsched.compute "f"(%m, %two) {commsched.runtime_ns = 100} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %r = commsched.all_reduce %m on @dp reduction(sum) {commsched.runtime_ns = 40} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %d = commsched.wait %r : !commsched.future<tensor<64xf32>>
  %n = commsched.compute "g"(%b, %d) {commsched.runtime_ns = 0} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %n : tensor<64xf32>
}
