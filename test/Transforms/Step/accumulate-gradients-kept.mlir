// RUN: commsched-opt %s --split-input-file -o %t \
// RUN:   --commsched-accumulate-gradients --remarks-filter=commsched 2>&1 | FileCheck %s
// RUN: commsched-opt %s --split-input-file | diff - %t
// RUN: not commsched-opt %S/accumulate-gradients.mlir --commsched-accumulate-gradients=micro-batches=1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ONE
// RUN: not commsched-opt %S/accumulate-gradients.mlir --commsched-accumulate-gradients=name=optimizer 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME

// ONE: option 'micro-batches' of pass 'commsched-accumulate-gradients' must be from 2 to 64, but is 1
// NAME: option 'name' of pass 'commsched-accumulate-gradients' is '@optimizer', but the module has that symbol
// NAME: note: it is here

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: none is linked to another one by 'commsched.source'"
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: no function returns what the next repetition takes"
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @backward(%x: tensor<4xf32> {commsched.source = {function = @forward, result = 0 : i64}}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// Statistics that a forward updates are not those of the next micro-batch.

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: each function returns what the next repetition takes"
func.func @statistics(%m: tensor<4xf32> {commsched.source = {function = @statistics, result = 0 : i64, iterations = 1 : i64}}) -> tensor<4xf32> {
  return %m : tensor<4xf32>
}
func.func @update(%d: tensor<4xf32> {commsched.source = {function = @statistics, result = 0 : i64}},
                  %m: tensor<4xf32> {commsched.source = {function = @update, result = 0 : i64, iterations = 1 : i64}}) -> tensor<4xf32> {
  return %m : tensor<4xf32>
}

// -----

// CHECK: GradientsNotAccumulated | {{.*}}Remark="the step keeps its one batch: result 0 of '@count', which '@update' takes, is no tensor of floating-point numbers, which could be added up"
func.func @count(%x: tensor<4xi64> {commsched.role = "input"}) -> tensor<4xi64> {
  %d = arith.addi %x, %x : tensor<4xi64>
  return %d : tensor<4xi64>
}
func.func @update(%d: tensor<4xi64> {commsched.source = {function = @count, result = 0 : i64}},
                  %m: tensor<4xi64> {commsched.source = {function = @update, result = 0 : i64, iterations = 1 : i64}}) -> tensor<4xi64> {
  %n = arith.addi %m, %d : tensor<4xi64>
  return %n : tensor<4xi64>
}
