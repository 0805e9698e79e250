// RUN: commsched-opt %s --commsched-reorder-compute-for-overlap | FileCheck %s
// RUN: commsched-opt %s --commsched-reorder-compute-for-overlap \
// RUN:     --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON

// What commsched-reorder-compute-for-overlap puts beside collectives.
// Collectives and products cost 1, everything else nothing, unless a function
// says otherwise.

commsched.group @g size(2)

// Both ends move. (A scheduler that fuses the activation with the first product
// leaves it ahead of the collective; nothing is lost either way.)
// CHECK-LABEL: func.func @raise_and_sink_at_once(
// CHECK-NEXT: commsched.compute "mm1"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "relu1"
// CHECK-NEXT: commsched.compute "mm2"
// CHECK-NEXT: commsched.compute "relu2"
// CHECK-NEXT: commsched.compute "mm3"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "mm4"
// CHECK-NEXT: return
// JSON: "function":"raise_and_sink_at_once"
// JSON-SAME: "step_time_ns":4,
// JSON-SAME: "compute_time_ns":4,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @raise_and_sink_at_once(%a: tensor<4xf32>)
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

// What leads to the second collective and does not need the first hides the
// first; what neither needs is left over and hides the second. A scheduler that
// spends both products on the first collective leaves the second exposed.
// CHECK-LABEL: func.func @two_collectives_of_unit_cost(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar1"
// CHECK-NEXT: commsched.compute "relu"
// CHECK-NEXT: commsched.compute "mm_d"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.compute "mul"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar2"
// CHECK-NEXT: commsched.compute "mm_g"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.compute "add"
// CHECK-NEXT: commsched.compute "mm_e"
// CHECK-NEXT: return
// JSON: "function":"two_collectives_of_unit_cost"
// JSON-SAME: "step_time_ns":3,
// JSON-SAME: "compute_time_ns":3,
// JSON-SAME: "comm_time_ns":2,
// JSON-SAME: "exposed_comm_ns":0,
func.func @two_collectives_of_unit_cost(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ar1 = commsched.all_reduce %a on @g reduction(sum)
      {commsched.name = "ar1", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %ar1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %mm_g = commsched.compute "mm_g"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %relu = commsched.compute "relu"(%a) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm_d = commsched.compute "mm_d"(%relu, %relu)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mul = commsched.compute "mul"(%mm_d, %relu, %w1)
      {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %ar2 = commsched.all_reduce %mul on @g reduction(sum)
      {commsched.name = "ar2", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %ar2 {commsched.name = "w2"}
      : !commsched.future<tensor<4xf32>>
  %add = commsched.compute "add"(%mm_d, %w1, %w2)
      {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mm_e = commsched.compute "mm_e"(%add, %mm_g) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm_e : tensor<4xf32>
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
