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

// Where one collective takes all computation that there is, the order is: (1)
// what leads to the second collective and does not need the first, (2) what
// neither needs, (3) what leads to the second and needs the first, then the
// second.
// CHECK-LABEL: func.func @two_long_collectives(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar1"
// CHECK-NEXT: commsched.compute "relu"
// CHECK-NEXT: commsched.compute "mm_d"
// CHECK-NEXT: commsched.compute "mm_g"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.compute "mul"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar2"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.compute "add"
// CHECK-NEXT: commsched.compute "mm_e"
// CHECK-NEXT: return
// JSON: "function":"two_long_collectives"
// JSON-SAME: "step_time_ns":212,
// JSON-SAME: "compute_time_ns":33,
// JSON-SAME: "comm_time_ns":200,
// JSON-SAME: "exposed_comm_ns":179,
func.func @two_long_collectives(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ar1 = commsched.all_reduce %a on @g reduction(sum)
      {commsched.name = "ar1", commsched.runtime_ns = 100 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %ar1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %mm_g = commsched.compute "mm_g"(%a, %a) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %relu = commsched.compute "relu"(%a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm_d = commsched.compute "mm_d"(%relu, %relu)
      {commsched.runtime_ns = 10 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mul = commsched.compute "mul"(%mm_d, %relu, %w1)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %ar2 = commsched.all_reduce %mul on @g reduction(sum)
      {commsched.name = "ar2", commsched.runtime_ns = 100 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %ar2 {commsched.name = "w2"}
      : !commsched.future<tensor<4xf32>>
  %add = commsched.compute "add"(%mm_d, %w1, %w2)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mm_e = commsched.compute "mm_e"(%add, %mm_g)
      {commsched.runtime_ns = 10 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm_e : tensor<4xf32>
}

// The same order with costs of another origin: all that matters is that the
// first collective is not covered by what is ready.
// CHECK-LABEL: func.func @two_long_collectives_of_other_costs(
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar1"
// CHECK-NEXT: commsched.compute "relu"
// CHECK-NEXT: commsched.compute "mm_d"
// CHECK-NEXT: commsched.compute "mm_g"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.compute "mul"
// CHECK-NEXT: commsched.all_reduce {{.*}}"ar2"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.compute "add"
// CHECK-NEXT: commsched.compute "mm_e"
// CHECK-NEXT: return
// JSON: "function":"two_long_collectives_of_other_costs"
// JSON-SAME: "step_time_ns":14003,
// JSON-SAME: "compute_time_ns":6,
// JSON-SAME: "comm_time_ns":14000,
// JSON-SAME: "exposed_comm_ns":13997,
func.func @two_long_collectives_of_other_costs(%a: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ar1 = commsched.all_reduce %a on @g reduction(sum)
      {commsched.name = "ar1", commsched.runtime_ns = 7000 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %ar1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %mm_g = commsched.compute "mm_g"(%a, %a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %relu = commsched.compute "relu"(%a) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %mm_d = commsched.compute "mm_d"(%relu, %relu)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mul = commsched.compute "mul"(%mm_d, %relu, %w1)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %ar2 = commsched.all_reduce %mul on @g reduction(sum)
      {commsched.name = "ar2", commsched.runtime_ns = 7000 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %ar2 {commsched.name = "w2"}
      : !commsched.future<tensor<4xf32>>
  %add = commsched.compute "add"(%mm_d, %w1, %w2)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %mm_e = commsched.compute "mm_e"(%add, %mm_g) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %mm_e : tensor<4xf32>
}

// Two gathers and two convolutions, all independent: each gather gets one
// convolution, and nothing is exposed. XLA, with at most one gather in flight,
// waits for the first before it starts the second; here the waits sink to their
// users, and it is the stream that runs the gathers one after the other.
// CHECK-LABEL: func.func @one_convolution_for_each_gather(
// CHECK-NEXT: commsched.all_gather {{.*}}"ag0"
// CHECK-NEXT: commsched.compute "conv0"
// CHECK-NEXT: commsched.all_gather {{.*}}"ag1"
// CHECK-NEXT: commsched.compute "conv1"
// CHECK-NEXT: commsched.wait {{.*}}"w0"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.compute "root"
// CHECK-NEXT: return
// JSON: "function":"one_convolution_for_each_gather"
// JSON-SAME: "step_time_ns":2,
// JSON-SAME: "compute_time_ns":2,
// JSON-SAME: "comm_time_ns":2,
// JSON-SAME: "exposed_comm_ns":0,
// JSON-SAME: "collectives":[{"name":"ag0"
// JSON-SAME: "start_ns":0,"end_ns":1,
// JSON-SAME: "name":"ag1",
// JSON-SAME: "start_ns":1,"end_ns":2
func.func @one_convolution_for_each_gather(
    %shard0: tensor<2xf32>, %shard1: tensor<2xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ag0 = commsched.all_gather %shard0 on @g dim(0)
      {commsched.name = "ag0", commsched.runtime_ns = 1 : i64}
      : tensor<2xf32> -> !commsched.future<tensor<4xf32>>
  %ag1 = commsched.all_gather %shard1 on @g dim(0)
      {commsched.name = "ag1", commsched.runtime_ns = 1 : i64}
      : tensor<2xf32> -> !commsched.future<tensor<4xf32>>
  %w0 = commsched.wait %ag0 {commsched.name = "w0"}
      : !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %ag1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %conv0 = commsched.compute "conv0"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %conv1 = commsched.compute "conv1"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %root = commsched.compute "root"(%w0, %w1, %conv0, %conv1)
      {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %root : tensor<4xf32>
}

// Three gathers, each with a convolution that reads what the gather before it
// delivered. Where XLA allows one gather in flight, every wait precedes the
// next start; so it does here except where the value is not needed yet, and no
// two gathers are under way at once.
// CHECK-LABEL: func.func @three_patterns_one_after_the_other(
// CHECK-NEXT: commsched.all_gather {{.*}}"ag0"
// CHECK-NEXT: commsched.compute "conv0"
// CHECK-NEXT: commsched.all_gather {{.*}}"ag1"
// CHECK-NEXT: commsched.all_gather {{.*}}"ag2"
// CHECK-NEXT: commsched.wait {{.*}}"w0"
// CHECK-NEXT: commsched.compute "conv1"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.compute "conv2"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.compute "root"
// CHECK-NEXT: return
// JSON: "function":"three_patterns_one_after_the_other"
// JSON-SAME: "step_time_ns":3,
// JSON-SAME: "compute_time_ns":3,
// JSON-SAME: "comm_time_ns":3,
// JSON-SAME: "exposed_comm_ns":0,
// JSON-SAME: "collectives":[{"name":"ag0"
// JSON-SAME: "start_ns":0,"end_ns":1,
// JSON-SAME: "name":"ag1",
// JSON-SAME: "start_ns":1,"end_ns":2,
// JSON-SAME: "name":"ag2",
// JSON-SAME: "start_ns":2,"end_ns":3
func.func @three_patterns_one_after_the_other(
    %shard0: tensor<2xf32>, %shard1: tensor<2xf32>, %shard2: tensor<2xf32>,
    %x: tensor<4xf32>)
    -> (tensor<4xf32>) {
  %ag0 = commsched.all_gather %shard0 on @g dim(0)
      {commsched.name = "ag0", commsched.runtime_ns = 1 : i64}
      : tensor<2xf32> -> !commsched.future<tensor<4xf32>>
  %ag1 = commsched.all_gather %shard1 on @g dim(0)
      {commsched.name = "ag1", commsched.runtime_ns = 1 : i64}
      : tensor<2xf32> -> !commsched.future<tensor<4xf32>>
  %ag2 = commsched.all_gather %shard2 on @g dim(0)
      {commsched.name = "ag2", commsched.runtime_ns = 1 : i64}
      : tensor<2xf32> -> !commsched.future<tensor<4xf32>>
  %conv0 = commsched.compute "conv0"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %w0 = commsched.wait %ag0 {commsched.name = "w0"}
      : !commsched.future<tensor<4xf32>>
  %conv1 = commsched.compute "conv1"(%w0) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %w1 = commsched.wait %ag1 {commsched.name = "w1"}
      : !commsched.future<tensor<4xf32>>
  %conv2 = commsched.compute "conv2"(%w1, %conv1)
      {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %w2 = commsched.wait %ag2 {commsched.name = "w2"}
      : !commsched.future<tensor<4xf32>>
  %root = commsched.compute "root"(%w2, %conv2, %conv0)
      {commsched.runtime_ns = 0 : i64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %root : tensor<4xf32>
}

// The first permute takes a whole convolution although half of it would do, and
// so does the second: none is left for the others. The reference is as greedy;
// sinking and raising without this pass hides all four.
// CHECK-LABEL: func.func @greedy_with_four_permutes(
// CHECK-NEXT: commsched.permute {{.*}}"cp0"
// CHECK-NEXT: commsched.compute "conv0"
// CHECK-NEXT: commsched.permute {{.*}}"cp1"
// CHECK-NEXT: commsched.compute "conv1"
// CHECK-NEXT: commsched.permute {{.*}}"cp2"
// CHECK-NEXT: commsched.permute {{.*}}"cp3"
// CHECK-NEXT: commsched.wait {{.*}}"w0"
// CHECK-NEXT: commsched.wait {{.*}}"w1"
// CHECK-NEXT: commsched.wait {{.*}}"w2"
// CHECK-NEXT: commsched.wait {{.*}}"w3"
// CHECK-NEXT: commsched.compute "root"
// CHECK-NEXT: return
// JSON: "function":"greedy_with_four_permutes"
// JSON-SAME: "step_time_ns":6,
// JSON-SAME: "compute_time_ns":4,
// JSON-SAME: "comm_time_ns":4,
// JSON-SAME: "exposed_comm_ns":2,
func.func @greedy_with_four_permutes(%a: tensor<4xf32>, %b: tensor<4xf32>)
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
