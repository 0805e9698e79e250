// RUN: commsched-opt %s --test-commsched-steady-state="memory-budget=200%% max-depth=2" \
// RUN:   | FileCheck %s --enable-var-scope --check-prefix=STATE
// RUN: commsched-opt %s -o /dev/null --remarks-filter=commsched \
// RUN:   --test-commsched-steady-state="memory-budget=200%% max-depth=2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s --test-commsched-steady-state="memory-budget=200%% max-depth=2" \
// RUN:   --commsched-report=format=json -o /dev/null | FileCheck %s
// RUN: commsched-opt %s --test-commsched-steady-state="memory-budget=200%% max-depth=2" \
// RUN:   --commsched-report -o /dev/null | FileCheck %s --check-prefix=TABLE
// RUN: commsched-opt %s --test-commsched-steady-state="memory-budget=200%% max-depth=2" \
// RUN:   --commsched-report=format=trace -o /dev/null | FileCheck %s --check-prefix=TRACE
// RUN: commsched-opt %s --test-commsched-steady-state="memory-budget=200%% max-depth=2" \
// RUN:   --commsched-set-costs=compute-slowdown=0.5 --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=SLOW
// RUN: %prints commsched-opt %s --test-commsched-steady-state="memory-budget=200%% max-depth=2" \
// RUN:   --commsched-report="format=json allocator=pytorch" -o /dev/null '{"function":"average_steady",{{.*}}"peak_memory_bytes":1280,{{.*}}"reserved_bytes":2097152,'

// A reduction that takes longer than either operator is in flight from one call
// to the next. Constants are not part of the state.

// REMARK: [Passed] StepRepeated | {{.*}}Function=average | {{.*}}PeriodBoundNs=60, PeriodNsAfter=60, PeriodNsBefore=100
// STATE-LABEL: func.func @average(
// STATE:       func.func @average_prologue({{.*}}) -> (tensor<64xf32>, !commsched.future<tensor<64xf32>>)
// STATE:       func.func @average_steady({{.*}}%{{[a-z0-9]+}}: tensor<64xf32> {commsched.freeable}
// STATE-SAME:    %[[PENDING:[a-z0-9]+]]: !commsched.future<tensor<64xf32>>,
// STATE:         arith.constant dense<2.0
// STATE:         commsched.wait %[[PENDING]]
// STATE:         %[[NEXT:.+]] = commsched.all_reduce
// STATE:         return %{{.+}}, %[[NEXT]] :
// STATE:       func.func @average_epilogue(

// A step has the period of its program; its steady state has that of what
// overlaps, where the reduction ends in the next period. Two repetitions in a
// row take 160 ns instead of two periods of 60: 40 ns are exposed once, of which
// the first computation and the last hide none.

// CHECK: {"function":"average",{{.*}}"step_time_ns":100,{{.*}}"period_ns":100,"period_bound_ns":60,"period_limited_by":"the computation","repetitions_in_progress":1,
// CHECK: {"function":"average_steady","num_ops":5,"num_collectives":1,"comm_bytes":256,"step_time_ns":60,"compute_time_ns":60,"comm_time_ns":40,"exposed_comm_ns":0,"lower_bound_ns":60,"tight_lower_bound_ns":60,"merging_lower_bound_ns":60,"period_ns":60,"period_bound_ns":60,"period_limited_by":"the computation","ramp_ns":20,"repetitions_in_progress":2,"peak_memory_bytes":1280,
// CHECK-SAME: "collectives":[{"name":"all_reduce_0","kind":"all_reduce","group":"dp","bytes":256,"start_ns":30,"end_ns":70,"wait_ns":30,"exposed_ns":0}]
// CHECK-SAME: "costs":{"source":"pinned","ops":3,"measured_ops":0,"pinned_ops":3,

// TABLE: function @average
// TABLE: period {{ *}}100 ns 1 repetition in progress
// TABLE: period bound {{ *}}60 ns the period is 66.7 % above it: the computation
// TABLE: function @average_steady
// TABLE: period {{ *}}60 ns 2 repetitions in progress
// TABLE: first and last take {{ *}}20 ns more than a period for each repetition

// TRACE: "name":"all_reduce_0","cat":"all_reduce","ph":"X","pid":1,"tid":2,"ts":0.030,"dur":0.040,"args":{"bytes":256,"exposed_ns":40}
// TRACE-SAME: "name":"all_reduce_0","cat":"all_reduce","ph":"X","pid":2,"tid":2,"ts":0.030,"dur":0.040,"args":{"bytes":256,"exposed_ns":0}

// Beside 40 ns of the reduction computation makes progress of 26 2/3 ns: the
// values of two repetitions are live then.
// SLOW: {"function":"average_steady",{{.*}}"exposed_comm_ns":14,{{.*}}"period_ns":74,"period_bound_ns":60,{{.*}}"exposed_ns":0}],"compute_slowdown_ns":14,"peak_position":0,
// SLOW-SAME: "peak_values":[{"name":"%arg2","bytes":256,"rule":"argument"},{"name":"f","bytes":256,"producer":1,"rule":"result"},{"name":"f","bytes":256,"producer":1,"rule":"result"},{"name":"all_reduce_0","bytes":256,"producer":3,"rule":"collective"},{"name":"g","bytes":256,"producer":4,"rule":"result"}]

commsched.group @dp size(8)

func.func @average(%m: tensor<64xf32> {commsched.carried = 0},
    %x: tensor<64xf32> {commsched.role = "input"}) -> tensor<64xf32> {
  %two = arith.constant dense<2.0> : tensor<64xf32>
  %b = commsched.compute "f"(%x, %two) {commsched.runtime_ns = 30} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %r = commsched.all_reduce %b on @dp reduction(sum) {commsched.runtime_ns = 40} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %d = commsched.wait %r : !commsched.future<tensor<64xf32>>
  %n = commsched.compute "g"(%m, %d) {commsched.runtime_ns = 30} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %n : tensor<64xf32>
}

// What a repetition passes on as another argument is used two later: %m of three
// repetitions is live in each.

// CHECK: {"function":"delayed",{{.*}}"step_time_ns":100,{{.*}}"period_ns":100,"period_bound_ns":60,"period_limited_by":"the computation","repetitions_in_progress":1,"peak_memory_bytes":1280,

func.func @delayed(%m: tensor<64xf32> {commsched.carried = 0}, %old: tensor<64xf32> {commsched.carried = 1},
    %older: tensor<64xf32> {commsched.carried = 2}) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %b = commsched.compute "f"(%m) {commsched.runtime_ns = 30} : (tensor<64xf32>) -> tensor<64xf32>
  %r = commsched.all_reduce %older on @dp reduction(sum) {commsched.runtime_ns = 40} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %d = commsched.wait %r : !commsched.future<tensor<64xf32>>
  %n = commsched.compute "g"(%b, %d) {commsched.runtime_ns = 30} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %n, %m, %old : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// A call takes 70 ns in the order of its callee, and 40 in another one: no more
// of it is in the bound.
// CHECK: {"function":"calling",{{.*}}"period_ns":70,"period_bound_ns":40,
func.func @calling(%m: tensor<64xf32> {commsched.carried = 0}) -> tensor<64xf32> {
  %n = call @part(%m) : (tensor<64xf32>) -> tensor<64xf32>
  return %n : tensor<64xf32>
}
func.func private @part(%m: tensor<64xf32>) -> tensor<64xf32> {
  %s = commsched.all_reduce %m on @dp reduction(sum) {commsched.runtime_ns = 30} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %r = commsched.wait %s : !commsched.future<tensor<64xf32>>
  %f = commsched.compute "f"(%m) {commsched.runtime_ns = 30} : (tensor<64xf32>) -> tensor<64xf32>
  %g = commsched.compute "g"(%f, %r) {commsched.runtime_ns = 10} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %g : tensor<64xf32>
}
