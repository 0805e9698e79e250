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

// Nothing may hide anything here. Starts keep their order and so do the waits,
// which stand in the order opposite to theirs. All three collectives are
// exposed; the first wait stands still for all of them, as they share a stream.
// CHECK-LABEL: func.func @reversed_waits_without_compute(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar1"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar2"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar3"
// CHECK-NEXT: commsched.wait {{.*}}"w3"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: return
// JSON: "function":"reversed_waits_without_compute"
// JSON-SAME: "step_time_ns":3,
// JSON-SAME: "compute_time_ns":0,
// JSON-SAME: "comm_time_ns":3,
// JSON-SAME: "exposed_comm_ns":3,
func.func @reversed_waits_without_compute(
    %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %ar1 = commsched.all_reduce %a on @g reduction(sum)
      {commsched.name = "ar1", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %ar2 = commsched.all_reduce %b on @g reduction(sum)
      {commsched.name = "ar2", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %ar3 = commsched.all_reduce %c on @g reduction(sum)
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

// Computations on either side of the pair end up in its window; the wait stands
// just ahead of its user.
// CHECK-LABEL: func.func @both_computations_inside_the_window(
// CHECK-NEXT: commsched.all_gather {{.*}}"ag"
// CHECK-NEXT: commsched.compute "conv0"
// CHECK-NEXT: commsched.compute "conv1"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "root"
// CHECK-NEXT: return
// JSON: "function":"both_computations_inside_the_window"
// JSON-SAME: "step_time_ns":2,
// JSON-SAME: "compute_time_ns":2,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @both_computations_inside_the_window(
    %shard: tensor<2xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ag = commsched.all_gather %shard on @g dim(0)
      {commsched.name = "ag", commsched.runtime_ns = 1 : i64}
      : tensor<2xf32> -> !commsched.future<tensor<4xf32>>
  %conv0 = commsched.compute "conv0"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %w = commsched.wait %ag {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %conv1 = commsched.compute "conv1"(%x, %conv0)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %root = commsched.compute "root"(%w, %conv1) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %root : tensor<4xf32>
}

// A view of the result costs nothing and must not pin the wait: wait, view and
// user stand together at the end of a full window.
// CHECK-LABEL: func.func @view_of_the_result_moves_with_the_wait(
// CHECK-NEXT: commsched.all_gather {{.*}}"ag"
// CHECK-NEXT: commsched.compute "conv0"
// CHECK-NEXT: commsched.compute "conv1"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "view"
// CHECK-NEXT: commsched.compute "root"
// CHECK-NEXT: return
// JSON: "function":"view_of_the_result_moves_with_the_wait"
// JSON-SAME: "step_time_ns":2,
// JSON-SAME: "compute_time_ns":2,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @view_of_the_result_moves_with_the_wait(
    %shard: tensor<2xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ag = commsched.all_gather %shard on @g dim(0)
      {commsched.name = "ag", commsched.runtime_ns = 1 : i64}
      : tensor<2xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %ag {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %view = commsched.compute "view"(%w)
      {alias = 0 : i64, commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %conv0 = commsched.compute "conv0"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %conv1 = commsched.compute "conv1"(%conv0) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %root = commsched.compute "root"(%view, %conv1)
      {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %root : tensor<4xf32>
}

// The wait sinks past the product that does not need it and stops at the one
// that does.
// CHECK-LABEL: func.func @sunk_past_the_first_product_only(
// CHECK-NEXT: commsched.compute "mm1"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar"
// CHECK-NEXT: commsched.compute "mm2"
// CHECK-NEXT: commsched.wait {{.*}}"w"
// CHECK-NEXT: commsched.compute "mm3"
// CHECK-NEXT: return
// JSON: "function":"sunk_past_the_first_product_only"
// JSON-SAME: "step_time_ns":3,
// JSON-SAME: "compute_time_ns":3,
// JSON-SAME: "comm_time_ns":1,
// JSON-SAME: "exposed_comm_ns":0,
func.func @sunk_past_the_first_product_only(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %mm1 = commsched.compute "mm1"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %ar = commsched.all_reduce %a on @g reduction(sum)
      {commsched.name = "ar", commsched.runtime_ns = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %ar {commsched.name = "w"}
      : !commsched.future<tensor<4xf32>>
  %mm2 = commsched.compute "mm2"(%mm1, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mm3 = commsched.compute "mm3"(%mm2, %w) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm3 : tensor<4xf32>
}
