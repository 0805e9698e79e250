// RUN: commsched-opt %s --pass-pipeline="builtin.module(func.func( \
// RUN:     commsched-sink-waits,commsched-raise-comms))" | FileCheck %s
// RUN: commsched-opt %s --pass-pipeline="builtin.module(func.func( \
// RUN:     commsched-sink-waits,commsched-raise-comms), \
// RUN:     commsched-report{format=json})" -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON

// Both list-scheduling passes after each other, as a textual pipeline.
// Collectives and products cost 1, convolutions 2, everything else nothing.

commsched.group @g size(2)

// The collective starts as soon as its operand is there and is waited for by
// the last product alone.
// CHECK-LABEL: func.func @raised_and_sunk(
// CHECK-NEXT: commsched.compute "mm1"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "relu1"
// CHECK-NEXT: commsched.compute "mm2"
// CHECK-NEXT: commsched.compute "relu2"
// CHECK-NEXT: commsched.compute "mm3"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "mm4"
// CHECK-NEXT: return
// JSON: "function":"raised_and_sunk"
// JSON-SAME: "step_time_ns":4,
// JSON-SAME: "compute_time_ns":4,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @raised_and_sunk(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %mm1 = commsched.compute "mm1"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %relu1 = commsched.compute "relu1"(%mm1) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm2 = commsched.compute "mm2"(%relu1, %relu1)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %ar = commsched.all_reduce %mm1 on @g reduction(sum)
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %ar {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %relu2 = commsched.compute "relu2"(%mm2) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm3 = commsched.compute "mm3"(%relu2, %relu2)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mm4 = commsched.compute "mm4"(%w, %mm3) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm4 : tensor<4xf32>
}

// The same with a collective in place of a copy: the copy rises with it, and no
// activation comes between the two.
// CHECK-LABEL: func.func @copy_ahead_of_collective_in_place(
// CHECK-NEXT: commsched.compute "mm1"
// CHECK-NEXT: commsched.compute "clone"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "relu1"
// CHECK-NEXT: commsched.compute "mm2"
// CHECK-NEXT: commsched.compute "relu2"
// CHECK-NEXT: commsched.compute "mm3"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "mm4"
// CHECK-NEXT: return
// JSON: "function":"copy_ahead_of_collective_in_place"
// JSON-SAME: "step_time_ns":4,
// JSON-SAME: "compute_time_ns":4,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @copy_ahead_of_collective_in_place(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %mm1 = commsched.compute "mm1"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %relu1 = commsched.compute "relu1"(%mm1) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm2 = commsched.compute "mm2"(%relu1, %relu1)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %clone = commsched.compute "clone"(%mm1) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %ar = commsched.all_reduce %clone on @g reduction(sum) into %clone
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %ar {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %relu2 = commsched.compute "relu2"(%mm2) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm3 = commsched.compute "mm3"(%relu2, %relu2)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mm4 = commsched.compute "mm4"(%w, %mm3) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm4 : tensor<4xf32>
}

// Two permutes of an argument and two of the first convolution's result: each
// pair is in flight beside one convolution, which is just long enough for both.
// CHECK-LABEL: func.func @two_permutes_around_each_convolution(
// CHECK-NEXT: commsched.permute {{.*}}"cp0"
// CHECK-NEXT: commsched.permute {{.*}}"cp1"
// CHECK-NEXT: commsched.compute "conv0"
// CHECK-NEXT: commsched.permute {{.*}}"cp2"
// CHECK-NEXT: commsched.permute {{.*}}"cp3"
// CHECK-NEXT: commsched.compute "conv1"
// CHECK-NEXT: commsched.wait {{.*}}"w0"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.wait {{.*}}"w3"
// CHECK-NEXT: commsched.compute "root"
// CHECK-NEXT: return
// JSON: "function":"two_permutes_around_each_convolution"
// JSON-SAME: "step_time_ns":4,
// JSON-SAME: "compute_time_ns":4,
// JSON-SAME: "comm_time_ns":4,
// JSON-SAME: "exposed_comm_ns":0,
func.func @two_permutes_around_each_convolution(
    %a: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %conv0 = commsched.compute "conv0"(%a) {commsched.runtime_ns = 2 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %conv1 = commsched.compute "conv1"(%b) {commsched.runtime_ns = 2 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %cp0 = commsched.permute %a on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp0", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w0 = commsched.wait %cp0 {commsched.name = "w0"}
      : !commsched.future<tensor<4xf32>>
  %cp1 = commsched.permute %b on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp1", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %cp1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %cp2 = commsched.permute %conv0 on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp2", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %cp2 {commsched.name = "w2"}
      : !commsched.future<tensor<4xf32>>
  %cp3 = commsched.permute %conv0 on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp3", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w3 = commsched.wait %cp3 {commsched.name = "w3"}
      : !commsched.future<tensor<4xf32>>
  %root = commsched.compute "root"(%w0, %w1, %w2, %w3, %conv1)
      {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %root : tensor<4xf32>
}

// Neither pass changes three averages with waits in the opposite order.
// CHECK-LABEL: func.func @reversed_waits(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar1"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar2"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar3"
// CHECK-NEXT: commsched.wait {{.*}}"w3"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: return
// JSON: "function":"reversed_waits"
// JSON-SAME: "step_time_ns":3,
// JSON-SAME: "compute_time_ns":0,
// JSON-SAME: "comm_time_ns":3,
// JSON-SAME: "exposed_comm_ns":3,
func.func @reversed_waits(
    %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %ar1 = commsched.all_reduce %a on @g reduction(avg)
      {commsched.name = "ar1", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %ar2 = commsched.all_reduce %b on @g reduction(avg)
      {commsched.name = "ar2", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %ar3 = commsched.all_reduce %c on @g reduction(avg)
      {commsched.name = "ar3", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w3 = commsched.wait %ar3 {commsched.name = "w3"}
      : !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %ar2 {commsched.name = "w2"}
      : !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %ar1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  return %w1, %w2, %w3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Nothing but the pipeline asks for it: the wait stands below the product that
// does not need it.
// CHECK-LABEL: func.func @enabled_by_a_textual_pipeline(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "mm1"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "mm2"
// CHECK-NEXT: return
// JSON: "function":"enabled_by_a_textual_pipeline"
// JSON-SAME: "step_time_ns":2,
// JSON-SAME: "compute_time_ns":2,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @enabled_by_a_textual_pipeline(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ar = commsched.all_reduce %a on @g reduction(sum)
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %ar {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %mm1 = commsched.compute "mm1"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mm2 = commsched.compute "mm2"(%w, %mm1) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm2 : tensor<4xf32>
}
