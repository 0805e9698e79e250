// RUN: commsched-opt %s -split-input-file --remark-policy=all \
// RUN:   --remark-format=emitRemark --remarks-filter=commsched \
// RUN:   --test-commsched-merge-step -o %t 2> %t.remarks
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: FileCheck %s < %t

// Two arguments that one result of the previous repetition feeds are one. What
// a call refers to stays, under another name if its own is that of the step.

// CHECK: func.func private @[[$KEPT:step_[0-9]+]](%{{[a-z0-9]+}}: tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {commsched.source = {function = @step, iterations = 1 : i64, result = 0 : i64}})
// CHECK: %[[A:.+]] = commsched.compute "first"(%[[X]])
// CHECK: commsched.compute "second"(%[[A]], %[[X]])
// CHECK-NOT: func.func @second
// CHECK: func.func @caller
// CHECK: call @[[$KEPT]]

func.func @step(%x: tensor<4xf32> {
    commsched.source = {function = @second, result = 0 : i64,
                        iterations = 1 : i64}}) -> tensor<4xf32> {
  %a = commsched.compute "first"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

func.func @second(
    %a: tensor<4xf32> {
      commsched.source = {function = @step, result = 0 : i64}},
    %x: tensor<4xf32> {
      commsched.source = {function = @second, result = 0 : i64,
                          iterations = 1 : i64}}) -> tensor<4xf32> {
  %b = commsched.compute "second"(%a, %x)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

func.func @caller(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @step(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// REMARK: [Missed] StepNotMerged
// REMARK-SAME: the functions of the module are not merged: none calls another one
// CHECK-LABEL: func.func @alone(
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// REMARK: [Missed] StepNotMerged
// REMARK-SAME: '@one' is the only one of its step
// CHECK-LABEL: func.func @one(
func.func @one(%x: tensor<4xf32> {
    commsched.source = {function = @one, result = 0 : i64,
                        iterations = 1 : i64}}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// REMARK: [Missed] StepNotMerged
// REMARK-SAME: '@b' and '@a' are of different steps, which no link joins
// CHECK-LABEL: func.func @a(
// CHECK: func.func @b(
func.func @a(%x: tensor<4xf32> {
    commsched.source = {function = @a, result = 0 : i64,
                        iterations = 1 : i64}}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func @b(%x: tensor<4xf32> {
    commsched.source = {function = @b, result = 0 : i64,
                        iterations = 1 : i64}}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// REMARK: [Missed] StepNotMerged
// REMARK-SAME: the body of '@blocks' is not one block
// CHECK-LABEL: func.func @blocks(
// CHECK: func.func @taking(
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}

func.func @taking(%x: tensor<4xf32> {
    commsched.source = {function = @blocks, result = 0 : i64}}) {
  return
}
