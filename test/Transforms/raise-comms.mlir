// RUN: commsched-opt %s --commsched-raise-comms | FileCheck %s
// RUN: commsched-opt %s --commsched-raise-comms \
// RUN:     --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON

// Where commsched-raise-comms puts starts. Collectives and products cost 1,
// everything else nothing, unless a function says otherwise.

commsched.group @g size(2)

// The start rises, with the addition that it needs, above the activation and
// the product that do not lead to it; they hide it.
// CHECK-LABEL: func.func @raised_above_independent_product(
// CHECK-NEXT: commsched.compute "mm1"
// CHECK-NEXT: commsched.compute "add"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "relu"
// CHECK-NEXT: commsched.compute "mm2"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "mm3"
// CHECK-NEXT: return
// JSON: "function":"raised_above_independent_product"
// JSON-SAME: "step_time_ns":3,
// JSON-SAME: "compute_time_ns":3,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @raised_above_independent_product(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %mm1 = commsched.compute "mm1"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %relu = commsched.compute "relu"(%mm1) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm2 = commsched.compute "mm2"(%relu, %relu) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %add = commsched.compute "add"(%mm1) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %ar = commsched.all_reduce %add on @g reduction(sum)
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %ar {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %mm3 = commsched.compute "mm3"(%mm2, %w) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm3 : tensor<4xf32>
}

// A collective of an argument rises to the top. The activation, which is priced
// here, hides it; the product behind it is free.
// CHECK-LABEL: func.func @prefetched_above_activation(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "relu"
// CHECK-NEXT: commsched.compute "mm"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "mul"
// CHECK-NEXT: return
// JSON: "function":"prefetched_above_activation"
// JSON-SAME: "step_time_ns":1,
// JSON-SAME: "compute_time_ns":1,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @prefetched_above_activation(%a: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %relu = commsched.compute "relu"(%a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm = commsched.compute "mm"(%relu, %relu) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %ar = commsched.all_reduce %b on @g reduction(sum)
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %ar {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %mul = commsched.compute "mul"(%mm, %w) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mul : tensor<4xf32>
}

// The collective writes the buffer that the first activation reads, so it rises
// above the second product but not above that activation.
// CHECK-LABEL: func.func @raised_only_above_the_second_activation(
// CHECK-NEXT: commsched.compute "mm1"
// CHECK-NEXT: commsched.compute "relu1"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "mm2"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "relu2"
// CHECK-NEXT: commsched.compute "mm3"
// CHECK-NEXT: return
// JSON: "function":"raised_only_above_the_second_activation"
// JSON-SAME: "step_time_ns":3,
// JSON-SAME: "compute_time_ns":3,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @raised_only_above_the_second_activation(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %mm1 = commsched.compute "mm1"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %relu1 = commsched.compute "relu1"(%mm1) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm2 = commsched.compute "mm2"(%relu1, %relu1)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %ar = commsched.all_reduce %mm1 on @g reduction(sum) into %mm1
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %ar {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %relu2 = commsched.compute "relu2"(%mm2) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm3 = commsched.compute "mm3"(%relu2, %w) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm3 : tensor<4xf32>
}

// Independent permutes rise until their starts are adjacent. XLA may bound how
// many are in flight; here a group's stream runs them one after the other, so
// nothing else bounds them.
// CHECK-LABEL: func.func @starts_stand_side_by_side(
// CHECK-NEXT: commsched.permute {{.*}}"cp0"
// CHECK-NEXT: commsched.permute {{.*}}"cp1"
// CHECK-NEXT: commsched.permute {{.*}}"cp2"
// CHECK-NEXT: commsched.wait {{.*}}"w0"
// CHECK-NEXT: commsched.compute "add0"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.compute "add1"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.compute "add2"
// CHECK-NEXT: return
// JSON: "function":"starts_stand_side_by_side"
// JSON-SAME: "step_time_ns":4,
// JSON-SAME: "compute_time_ns":3,
// JSON-SAME: "comm_time_ns":3,
// JSON-SAME: "exposed_comm_ns":1,
func.func @starts_stand_side_by_side(
    %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %cp0 = commsched.permute %a on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp0", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w0 = commsched.wait %cp0 {commsched.name = "w0"}
      : !commsched.future<tensor<4xf32>>
  %add0 = commsched.compute "add0"(%w0) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %cp1 = commsched.permute %b on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp1", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %cp1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %add1 = commsched.compute "add1"(%w1, %add0) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %cp2 = commsched.permute %c on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp2", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %cp2 {commsched.name = "w2"}
      : !commsched.future<tensor<4xf32>>
  %add2 = commsched.compute "add2"(%w2, %add1) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %add2 : tensor<4xf32>
}

// The second permute sends what the first delivers: its start stands right
// behind the first wait, the first start right behind its operand, the last
// wait right ahead of its user.
// CHECK-LABEL: func.func @serial_permutes(
// CHECK-NEXT: commsched.compute "neg"
// CHECK-NEXT: commsched.permute {{.*}}"cp0"
// CHECK-NEXT: commsched.wait {{.*}}"w0"
// CHECK-NEXT: commsched.permute {{.*}}"cp1"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.compute "root"
// CHECK-NEXT: return
// JSON: "function":"serial_permutes"
// JSON-SAME: "step_time_ns":4,
// JSON-SAME: "compute_time_ns":2,
// JSON-SAME: "comm_time_ns":2,
// JSON-SAME: "exposed_comm_ns":2,
func.func @serial_permutes(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %neg = commsched.compute "neg"(%a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %cp0 = commsched.permute %neg on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp0", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w0 = commsched.wait %cp0 {commsched.name = "w0"}
      : !commsched.future<tensor<4xf32>>
  %cp1 = commsched.permute %w0 on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp1", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %cp1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %root = commsched.compute "root"(%w1) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %root : tensor<4xf32>
}

// With nothing to put between them, start and wait stay together.
// CHECK-LABEL: func.func @single_permute_without_company(
// CHECK-NEXT: commsched.permute {{.*}}"cp0"
// CHECK-NEXT: commsched.wait {{.*}}"w0"
// CHECK-NEXT: return
// JSON: "function":"single_permute_without_company"
// JSON-SAME: "step_time_ns":1,
// JSON-SAME: "compute_time_ns":0,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":1,
func.func @single_permute_without_company(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %cp0 = commsched.permute %a on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "cp0", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w0 = commsched.wait %cp0 {commsched.name = "w0"}
      : !commsched.future<tensor<4xf32>>
  return %w0 : tensor<4xf32>
}
