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
