// RUN: commsched-opt %s --commsched-pipeline="steady-state memory-budget=100%%" \
// RUN:   | FileCheck %s --implicit-check-not=func.func
// RUN: commsched-opt %s --commsched-pipeline="steady-state memory-budget=100%%" \
// RUN:   -o /dev/null --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %fails commsched-opt %s --commsched-pipeline="steady-state reserved-bytes=1GiB" \
// RUN:   "error: option 'reserved-bytes' of pass 'commsched-schedule' needs a memory budget in bytes, but option 'memory-budget' is '5%%'"
// RUN: commsched-opt %s --commsched-pipeline="compute-slowdown=0.5 steady-state memory-budget=100%%" \
// RUN:   -o /dev/null --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=SLOW
// RUN: commsched-opt %s --commsched-pipeline="steady-state memory-budget=1GiB reserved-bytes=1022MiB" \
// RUN:   -o /dev/null --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=ROOM
// RUN: commsched-opt %s --commsched-pipeline="steady-state memory-budget=1GiB reserved-bytes=1048000KiB" \
// RUN:   -o /dev/null --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=LESS
// RUN: commsched-opt %s --commsched-pipeline="steady-state memory-budget=4MiB budget-on=reserved" \
// RUN:   -o /dev/null --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=SEGMENTS
// RUN: commsched-opt %s --commsched-pipeline="steady-state memory-budget=1MiB budget-on=reserved" \
// RUN:   -o /dev/null --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=NONE

// RUN: sed 's/commsched.carried = 0 : i64, //' %s \
// RUN:   | not commsched-opt --commsched-pipeline=steady-state 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ONCE
// RUN: sed 's/commsched.carried = 0 : i64, //' %s \
// RUN:   | commsched-opt --test-commsched-steady-state -o /dev/null \
// RUN:   --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=KEPT

// ONCE: error: nothing repeats: no argument of a function has 'commsched.carried', the result that the next repetition takes
// KEPT: [Missed] StepKept {{.*}}no argument of a function has 'commsched.carried', the result that the next repetition takes

// 45 ns of communication take 15 from the computation beside them.
// SLOW: StepRepeated | {{.*}}Depth=2, {{.*}}PeriodBoundNs=160, PeriodNsAfter=175, PeriodNsBefore=185
// ROOM: StepRepeated | {{.*}}BudgetBytes=2097152, Depth=2, {{.*}}PeriodNsAfter=160,
// LESS: StepKept | {{.*}}no order fits: the one that needs least takes 1081344 bytes, of 589824"
// The allocator has one segment of 2 MiB for all.
// SEGMENTS: StepRepeated | {{.*}}BudgetBytes=4194304, Depth=2, {{.*}}, for a budget of 4194304, and 2097152 reserved"
// NONE: StepKept | {{.*}}no order fits: the one that needs least takes 2097152 bytes, of 1048576"

// The functions of a step become one, which is scheduled; then its repetitions
// overlap: the gradient is reduced, the parameter updated and gathered again
// while the next repetition embeds its input.

!t = tensor<32x256xf32>
commsched.group @dp size(8)

// REMARK: StepMerged
// REMARK: StepRepeated | {{.*}}Function=step | {{.*}}Depth=2, {{.*}}PeriodBoundNs=160, PeriodNsAfter=160, PeriodNsBefore=175

// CHECK: func.func @step(
// CHECK: func.func @step_prologue(
// CHECK: func.func @step_steady(
// CHECK: func.func @step_epilogue(

func.func @step(
    %w: !t {commsched.carried = 0 : i64, commsched.role = "parameter"},
    %x: tensor<256x256xf32> {commsched.role = "input"}) -> !t {
  %a = call @forward(%w, %x) : (!t, tensor<256x256xf32>) -> tensor<256x256xf32>
  %d = call @backward(%a) : (tensor<256x256xf32>) -> !t
  %n = call @optimizer(%w, %d) : (!t, !t) -> !t
  return %n : !t
}

func.func private @forward(%w: !t {commsched.role = "parameter"},
    %x: tensor<256x256xf32> {commsched.role = "input"}) -> tensor<256x256xf32> {
  %e = commsched.compute "embed"(%x) {commsched.runtime_ns = 20 : i64} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %a = commsched.compute "attend"(%e) {commsched.runtime_ns = 40 : i64} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 30 : i64} : !t -> !commsched.future<tensor<256x256xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
  %b = commsched.compute "mm"(%a, %g) {commsched.runtime_ns = 45 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %b : tensor<256x256xf32>
}

func.func private @backward(%a: tensor<256x256xf32> {commsched.role = "saved_activation"}) -> !t {
  %b = commsched.compute "mm"(%a, %a) {commsched.runtime_ns = 50 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %r = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) {commsched.runtime_ns = 15 : i64} : tensor<256x256xf32> -> !commsched.future<!t>
  %d = commsched.wait %r : !commsched.future<!t>
  return %d : !t
}

func.func private @optimizer(%w: !t {commsched.freeable}, %d: !t {commsched.freeable}) -> !t {
  %n = commsched.compute "adam"(%w, %d) {commsched.runtime_ns = 5 : i64} : (!t, !t) -> !t
  return %n : !t
}
