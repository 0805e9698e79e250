// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-report=format=json -o /dev/null | FileCheck %s
// RUN: commsched-opt %t.mlir --commsched-pipeline=memory-budget=50%% \
// RUN:   --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=AFTER
// RUN: commsched-opt %t.mlir --commsched-report -o /dev/null | FileCheck %s --check-prefix=TABLE

// What is in a loop or a branch counts as often as it runs; calls.mlir has calls.

!t = tensor<64xf32>
!u = tensor<512xf32>
commsched.group @g size(8)

// A body of 10 + 100 + 50 ns, four times: 640 ns, of which the gather exposes
// 400. Its first iteration begins behind "before". The pipeline starts the gather
// before "mm" and overlaps the iterations: three periods of what the gather
// takes, with the rest of the first and the last iteration around them.
// CHECK: "function":"loop","num_ops":6,"num_collectives":4,"comm_bytes":8192,
// CHECK-SAME: "step_time_ns":645,"compute_time_ns":245,"comm_time_ns":400,"exposed_comm_ns":400,
// CHECK-SAME: "collectives":[{"name":"gather","kind":"all_gather","group":"g","bytes":2048,
// CHECK-SAME: "start_ns":15,"end_ns":115,"wait_ns":15,"exposed_ns":400,"iterations":4,
// TABLE: function @loop
// TABLE: collectives {{ *}}4  0 hidden
// TABLE: gather {{ *}}all_gather x 4 {{ *}}g
// AFTER: "function":"loop"{{.*}}"num_collectives":4,
// AFTER-SAME: "step_time_ns":415,"compute_time_ns":245,"comm_time_ns":400,"exposed_comm_ns":170,
func.func @loop(%x: !t, %a: !u) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %before = commsched.compute "before"(%a) {commsched.runtime_ns = 5} : (!u) -> !u
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %before) -> (!u) {
    %s = commsched.compute "slice"(%x, %i) {commsched.runtime_ns = 10} : (!t, index) -> !t
    $run(%w = all_gather %s on @g dim(0) {commsched.name = "gather", commsched.runtime_ns = 100} : !t -> !u)
    %m = commsched.compute "mm"(%v) {commsched.runtime_ns = 50} : (!u) -> !u
    %y = commsched.compute "add"(%m, %w) {commsched.runtime_ns = 0} : (!u, !u) -> !u
    scf.yield %y : !u
  }
  %q = commsched.compute "after"(%r) {commsched.runtime_ns = 0} : (!u) -> !u
  return %q : !u
}

// Of two branches the costlier counts.
// CHECK: "function":"branch"{{.*}}"num_collectives":1,
// CHECK-SAME: "step_time_ns":70,"compute_time_ns":40,"comm_time_ns":30,"exposed_comm_ns":30,
func.func @branch(%x: !t, %c: i1) -> !t {
  %r = scf.if %c -> !t {
    %y = commsched.compute "short"(%x) {commsched.runtime_ns = 60} : (!t) -> !t
    scf.yield %y : !t
  } else {
    $run(%w = all_reduce %x on @g reduction(sum) {commsched.runtime_ns = 30} : !t -> !t)
    %y = commsched.compute "long"(%w) {commsched.runtime_ns = 40} : (!t) -> !t
    scf.yield %y : !t
  }
  return %r : !t
}

// A loop in a loop, of which the outer count is a hint: 3 * 2 reductions.
// CHECK: "function":"nested"{{.*}}"num_collectives":6,
// CHECK-SAME: "step_time_ns":246,"compute_time_ns":66,"comm_time_ns":180,"exposed_comm_ns":180,
// CHECK-SAME: "exposed_ns":180,"iterations":6,
func.func @nested(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> (!t) {
    %p = scf.for %j = %c0 to %c2 step %c1 iter_args(%u = %v) -> (!t) {
      $run(%w = all_reduce %u on @g reduction(sum) {commsched.runtime_ns = 30} : !t -> !t)
      %y = commsched.compute "mm"(%w) {commsched.runtime_ns = 10} : (!t) -> !t
      scf.yield %y : !t
    }
    %z = commsched.compute "norm"(%p) {commsched.runtime_ns = 2} : (!t) -> !t
    scf.yield %z : !t
  } {commsched.trip_count = 3 : i64}
  return %r : !t
}
