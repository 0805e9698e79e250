// RUN: commsched-opt %s --commsched-pipeline="steady-state memory-budget=100%%" \
// RUN:   | FileCheck %s --implicit-check-not=func.func
// RUN: commsched-opt %s --commsched-pipeline="steady-state memory-budget=100%%" \
// RUN:   -o /dev/null --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not commsched-opt %s --commsched-pipeline="steady-state reserved-bytes=1GiB" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RESERVED
// RUN: not commsched-opt %s --commsched-pipeline="link-sharing steady-state" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SHARING

// RESERVED: error: option 'reserved-bytes' of pipeline 'commsched-pipeline' cannot be given beside 'steady-state'
// SHARING: error: option 'link-sharing' of pipeline 'commsched-pipeline' cannot be given beside 'steady-state'

// The functions of a step become one, which is scheduled; then its repetitions
// overlap: the gradient is reduced, the parameter updated and gathered again
// while the next repetition embeds its input.

commsched.group @dp size(8)

// REMARK: StepMerged
// REMARK: StepRepeated | {{.*}}Function=step | {{.*}}Depth=2, {{.*}}PeriodBoundNs=160, PeriodNsAfter=160, PeriodNsBefore=175

// CHECK: func.func @step(
// CHECK: func.func @step_prologue(
// CHECK: func.func @step_steady(
// CHECK: func.func @step_epilogue(

func.func @forward(
    %w: tensor<32x256xf32> {commsched.role = "parameter",
      commsched.source = {function = @optimizer, result = 0 : i64, iterations = 1 : i64}},
    %x: tensor<256x256xf32> {commsched.role = "input"})
    -> (tensor<256x256xf32>, tensor<32x256xf32>) {
  %e = commsched.compute "embed"(%x) {commsched.runtime_ns = 20 : i64} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %a = commsched.compute "attend"(%e) {commsched.runtime_ns = 40 : i64} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 30 : i64} : tensor<32x256xf32> -> !commsched.future<tensor<256x256xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
  %b = commsched.compute "mm"(%a, %g) {commsched.runtime_ns = 45 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %b, %w : tensor<256x256xf32>, tensor<32x256xf32>
}

func.func @backward(
    %a: tensor<256x256xf32> {commsched.role = "saved_activation",
      commsched.source = {function = @forward, result = 0 : i64}})
    -> tensor<32x256xf32> {
  %b = commsched.compute "mm"(%a, %a) {commsched.runtime_ns = 50 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %r = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) {commsched.runtime_ns = 15 : i64} : tensor<256x256xf32> -> !commsched.future<tensor<32x256xf32>>
  %d = commsched.wait %r : !commsched.future<tensor<32x256xf32>>
  return %d : tensor<32x256xf32>
}

func.func @optimizer(
    %w: tensor<32x256xf32> {commsched.freeable,
      commsched.source = {function = @forward, result = 1 : i64}},
    %d: tensor<32x256xf32> {commsched.freeable,
      commsched.source = {function = @backward, result = 0 : i64}})
    -> tensor<32x256xf32> {
  %n = commsched.compute "adam"(%w, %d) {commsched.runtime_ns = 5 : i64} : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<32x256xf32>
  return %n : tensor<32x256xf32>
}
