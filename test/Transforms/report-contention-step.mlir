// RUN: commsched-opt %s --commsched-set-costs="exclusive-groups link-sharing compute-slowdown=0.5" \
// RUN:   --commsched-report="format=json" -o /dev/null | FileCheck %s

// Both halves contend alike, and their step takes the sum of both. The groups
// come in another order in the backward.

!t = tensor<64xi8>
commsched.group @node size(8)
commsched.group @all size(64)

// CHECK: "function":"forward",{{.*}}"step_time_ns":120,
// CHECK-SAME: "exposed_comm_ns":60,
// CHECK-SAME: "name":"all_reduce_0",{{[^}]*}}"start_ns":0,"end_ns":100,
// CHECK-SAME: "name":"all_reduce_1",{{[^}]*}}"start_ns":100,"end_ns":120,
// CHECK-SAME: "compute_slowdown_ns":30,
func.func @forward(%x: !t) -> (!t, !t) {
  %f = commsched.all_reduce %x on @node reduction(sum)
      {commsched.runtime_ns = 100 : i64} : !t -> !commsched.future<!t>
  %g = commsched.all_reduce %x on @all reduction(sum)
      {commsched.runtime_ns = 20 : i64} : !t -> !commsched.future<!t>
  %y = commsched.compute "mm"(%x) {commsched.runtime_ns = 60 : i64} : (!t) -> !t
  %a = commsched.wait %f : !commsched.future<!t>
  %b = commsched.wait %g : !commsched.future<!t>
  return %y, %a : !t, !t
}

// CHECK: "function":"backward",{{.*}}"step_time_ns":70,
// CHECK-SAME: "name":"all_reduce_0",{{[^}]*}}"start_ns":0,"end_ns":30,
// CHECK-SAME: "name":"all_reduce_1",{{[^}]*}}"start_ns":30,"end_ns":70,

func.func @backward(
    %saved: !t {commsched.role = "saved_activation"},
    %tangent: !t {commsched.role = "tangent"})
    -> !t {
  %f = commsched.all_reduce %saved on @all reduction(sum)
      {commsched.runtime_ns = 30 : i64} : !t -> !commsched.future<!t>
  %g = commsched.all_reduce %tangent on @node reduction(sum)
      {commsched.runtime_ns = 40 : i64} : !t -> !commsched.future<!t>
  %a = commsched.wait %f : !commsched.future<!t>
  %b = commsched.wait %g : !commsched.future<!t>
  return %b : !t
}

// CHECK: "function":"step",{{.*}}"step_time_ns":190,
// CHECK-SAME: "exposed_comm_ns":130,
// CHECK-SAME: "start_ns":120,"end_ns":150,
// CHECK-SAME: "start_ns":150,"end_ns":190,
// CHECK-SAME: "compute_slowdown_ns":30,
func.func @step(%x0: !t, %x1: !t)
    -> (!t, !t) {
  %f:2 = call @forward(%x0) : (!t) -> (!t, !t)
  %b = call @backward(%f#1, %x1)
      : (!t, !t) -> !t
  return %f#0, %b : !t, !t
}
