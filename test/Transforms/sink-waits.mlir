// RUN: commsched-opt %s --commsched-sink-waits | FileCheck %s
// RUN: commsched-opt %s --commsched-sink-waits \
// RUN:     --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON

// Where commsched-sink-waits leaves waits. Collectives and products cost 1,
// everything else nothing. -NEXT everywhere: the whole order is checked.

commsched.group @g size(2)

// The wait right behind its start sinks below the product that does not need
// it, which hides the collective.
// CHECK-LABEL: func.func @wait_below_independent_compute(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "mm1"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "mm2"
// CHECK-NEXT: return
// JSON: "function":"wait_below_independent_compute"
// JSON-SAME: "step_time_ns":2,
// JSON-SAME: "compute_time_ns":2,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @wait_below_independent_compute(%a: tensor<4xf32>)
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

// Both waits of a chain may sink, the first no further than the start that
// needs its value. (A wait of a wait cannot be written: a wait yields no
// future.)
// CHECK-LABEL: func.func @chained_waits_sink_in_turn(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar0"
// CHECK-NEXT: commsched.compute "mm"
// CHECK-NEXT: commsched.wait {{.*}}"w0"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar1"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.compute "add"
// CHECK-NEXT: return
// JSON: "function":"chained_waits_sink_in_turn"
// JSON-SAME: "step_time_ns":2,
// JSON-SAME: "compute_time_ns":1,
// JSON-SAME: "comm_time_ns":2,
// JSON-SAME: "exposed_comm_ns":1,
func.func @chained_waits_sink_in_turn(%a: tensor<4xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ar0 = commsched.all_reduce %a on @g reduction(sum)
      {commsched.name = "ar0", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w0 = commsched.wait %ar0 {commsched.name = "w0"}
      : !commsched.future<tensor<4xf32>>
  %ar1 = commsched.all_reduce %w0 on @g reduction(sum)
      {commsched.name = "ar1", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %ar1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %mm = commsched.compute "mm"(%x, %x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %add = commsched.compute "add"(%w1, %mm) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %add : tensor<4xf32>
}
