// RUN: commsched-opt %s -o %t \
// RUN:   --test-commsched-steady-state=memory-budget=100%% --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s
// RUN: commsched-opt %s | diff - %t

// A circle of dependences leaves nothing to overlap.

commsched.group @dp size(8)

// CHECK: [Missed] StepKept | {{.*}}Function=circle | Remark="the step keeps its repetitions apart: a repetition takes 140 ns, of at least 140 (the circle of f, commsched.all_reduce 'sum', commsched.wait), and nothing that fits {{[0-9]+}} bytes is shorter"
func.func @circle(%m: tensor<64xf32> {commsched.carried = 0 : i64}) -> tensor<64xf32> {
  %b = commsched.compute "f"(%m) {commsched.runtime_ns = 100 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  %r = commsched.all_reduce %b on @dp reduction(sum) {commsched.runtime_ns = 40 : i64, commsched.name = "sum"} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %d = commsched.wait %r : !commsched.future<tensor<64xf32>>
  return %d : tensor<64xf32>
}

// CHECK: [Missed] StepKept | {{.*}}Function=blocks | Remark="the step keeps its repetitions apart: its body is not one block"
func.func @blocks(%m: tensor<4xf32> {commsched.carried = 0}) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %m : tensor<4xf32>
}

// What one repetition passes through as another argument reaches the one after
// the next.

// CHECK: [Missed] StepKept | {{.*}}Function=swap | Remark="the step keeps its repetitions apart: yields an argument of its body as another one, which is then two iterations old"
func.func @swap(%m: tensor<4xf32> {commsched.carried = 1}, %n: tensor<4xf32>
    {commsched.carried = 0}) -> (tensor<4xf32>, tensor<4xf32>) {
  return %m, %n : tensor<4xf32>, tensor<4xf32>
}

// A step keeps the steady state that it has.

// CHECK: [Missed] StepKept | {{.*}}Function=once | Remark="the step keeps its repetitions apart: it has a steady state already"
func.func @once(%m: tensor<4xf32> {commsched.carried = 0}) -> tensor<4xf32> {
  return %m : tensor<4xf32>
}
func.func private @once_prologue(tensor<4xf32> {commsched.step_argument = 0}) -> tensor<4xf32>
    attributes {commsched.steady_state = {depth = 2, role = "prologue", step = @once}}

// A call takes what its callee does.

// CHECK: [Missed] StepKept | {{.*}}Function=calling | Remark="the step keeps its repetitions apart: a repetition takes 140 ns, of at least 140 (the computation), and
func.func @calling(%m: tensor<64xf32> {commsched.carried = 0}) -> tensor<64xf32> {
  %n = call @circle(%m) : (tensor<64xf32>) -> tensor<64xf32>
  return %n : tensor<64xf32>
}
