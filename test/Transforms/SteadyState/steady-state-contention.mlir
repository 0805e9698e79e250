// RUN: commsched-opt %s --commsched-set-costs=slack=0 --test-commsched-steady-state="memory-budget=200%%" \
// RUN:   --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=FREE --implicit-check-not=step_steady
// RUN: commsched-opt %s --commsched-set-costs="slack=0 exclusive-groups" --test-commsched-steady-state="memory-budget=200%% max-depth=2" \
// RUN:   --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=EXCLUSIVE

// The gather of a step depends on all of its computation of 110 ns, so that no
// period is shorter than 170 ns. Where groups are exclusive, the reduction does
// not run beside the gather, but under the forward of the repetition before.

// FREE: {"function":"step",{{.*}}"period_ns":170,"period_bound_ns":170,{{.*}}"name":"all_gather_0",{{[^}]*}}"start_ns":0,"end_ns":60,{{.*}}"name":"all_reduce_1",{{[^}]*}}"start_ns":0,"end_ns":60,

// EXCLUSIVE: {"function":"step",{{.*}}"period_ns":230,
// EXCLUSIVE: {"function":"step_steady",{{.*}}"period_ns":170,"period_bound_ns":170,
// EXCLUSIVE-SAME: "ramp_ns":60,"repetitions_in_progress":2,
// EXCLUSIVE-SAME: {"name":"all_reduce_0",{{[^}]*}}"start_ns":50,"end_ns":110,"wait_ns":170,"exposed_ns":0}
// EXCLUSIVE-SAME: {"name":"all_gather_1",{{[^}]*}}"start_ns":110,"end_ns":170,"wait_ns":110,"exposed_ns":60,"limited_by":"nothing left to hide it: all computation has to precede it, needs it, or runs beside it",
// EXCLUSIVE-SAME: "peak_position":0,"peak_values":[{"name":"%arg4","bytes":256,"rule":"argument"},{"name":"%arg4","bytes":256,"rule":"argument"},{"name":"forward","bytes":256,"producer":0,"rule":"result"}

commsched.group @dp size(8)
commsched.group @all size(16) ranks_per_node(8)

func.func @step(
    %w: tensor<8xf32> {commsched.carried = 0 : i64, commsched.role = "parameter"},
    %x: tensor<64xf32> {commsched.role = "input"}) -> tensor<8xf32> {
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 60 : i64} : tensor<8xf32> -> !commsched.future<tensor<64xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64xf32>>
  %b = commsched.compute "forward"(%x, %g) {commsched.runtime_ns = 50 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %l = commsched.all_reduce %x on @all reduction(sum) {commsched.runtime_ns = 60 : i64} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %m = commsched.wait %l : !commsched.future<tensor<64xf32>>
  %c = commsched.compute "backward"(%b, %m) {commsched.runtime_ns = 50 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<8xf32>
  %n = commsched.compute "adam"(%w, %c) {commsched.runtime_ns = 10 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %n : tensor<8xf32>
}
