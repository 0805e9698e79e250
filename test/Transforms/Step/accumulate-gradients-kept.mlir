// RUN: commsched-opt %s --split-input-file -o %t \
// RUN:   --commsched-accumulate-gradients --remarks-filter=commsched 2>&1 | FileCheck %s
// RUN: commsched-opt %s --split-input-file | diff - %t
// RUN: %fails commsched-opt %S/accumulate-gradients.mlir --commsched-accumulate-gradients=micro-batches=1 "option 'micro-batches' of pass 'commsched-accumulate-gradients' must be 0 or from 2 to 64, but is 1"
// RUN: not commsched-opt %S/accumulate-gradients.mlir --commsched-accumulate-gradients=name=optimizer 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME

// NAME: option 'name' of pass 'commsched-accumulate-gradients' is '@optimizer', but the module has that symbol
// NAME: note: it is here
// RUN: %prints commsched-opt %S/accumulate-gradients.mlir -o /dev/null --commsched-accumulate-gradients=micro-batches=0 --remarks-filter=commsched \
// RUN:   "GradientsNotAccumulated | {{.*}}Remark=\"the step keeps its one batch: 'micro-batches' is 0, and no loop (scf.for) of '@step' calls what runs for each micro-batch\""

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: no function has arguments with 'commsched.carried' and calls what runs for each micro-batch and what runs once"
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: '@second' and '@first' are different steps"
func.func @first(%x: tensor<4xf32> {commsched.carried = 0 : i64}) -> tensor<4xf32> {
  %y = call @part(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @second(%x: tensor<4xf32> {commsched.carried = 0 : i64}) -> tensor<4xf32> {
  %y = call @part(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @part(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.negf %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// What is passed through is no part's.

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: no part of it returns what the next repetition takes"
func.func @step(%w: tensor<4xf32> {commsched.carried = 0}, %x: tensor<4xf32>
    {commsched.role = "input"}) -> (tensor<4xf32>, tensor<4xf32>) {
  %v, %y = call @forward(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %v, %y : tensor<4xf32>, tensor<4xf32>
}
func.func private @forward(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = arith.addf %w, %x : tensor<4xf32>
  return %w, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// Statistics that a forward updates are not those of the next micro-batch.

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: no part of it takes an input without returning what the next repetition takes"
func.func @step(%m: tensor<4xf32> {commsched.carried = 0}, %w: tensor<4xf32>
    {commsched.carried = 1}, %x: tensor<4xf32> {commsched.role = "input"})
    -> (tensor<4xf32>, tensor<4xf32>) {
  %n = call @statistics(%m, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %v = call @statistics(%w, %n) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %n, %v : tensor<4xf32>, tensor<4xf32>
}
func.func private @statistics(%m: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %n = arith.addf %m, %x : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: '@update', which runs once for all micro-batches, takes argument 1 of '@step', which each of them has"
func.func @step(%w: tensor<4xf32> {commsched.carried = 0 : i64},
                %x: tensor<4xf32> {commsched.role = "input"}) -> tensor<4xf32> {
  %d = call @gradient(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %v = call @update(%w, %d, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %v : tensor<4xf32>
}
func.func private @gradient(%x: tensor<4xf32>) -> tensor<4xf32> {
  %d = arith.negf %x : tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func private @update(%w: tensor<4xf32>, %d: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %s = arith.addf %d, %x : tensor<4xf32>
  %v = arith.addf %w, %s : tensor<4xf32>
  return %v : tensor<4xf32>
}

// -----

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: result 0 of '@count', which '@update' takes, is no tensor of floating-point numbers, which could be added up"
func.func @step(%m: tensor<4xi64> {commsched.carried = 0 : i64},
                %x: tensor<4xi64> {commsched.role = "input"}) -> tensor<4xi64> {
  %d = call @count(%x) : (tensor<4xi64>) -> tensor<4xi64>
  %n = call @update(%d, %m) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %n : tensor<4xi64>
}
func.func private @count(%x: tensor<4xi64>) -> tensor<4xi64> {
  %d = arith.addi %x, %x : tensor<4xi64>
  return %d : tensor<4xi64>
}
func.func private @update(%d: tensor<4xi64>, %m: tensor<4xi64>) -> tensor<4xi64> {
  %n = arith.addi %m, %d : tensor<4xi64>
  return %n : tensor<4xi64>
}
