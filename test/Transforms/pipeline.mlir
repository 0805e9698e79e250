// RUN: %rows %s > %t.mlir

// DEFINE: %{options} =
// DEFINE: %{dump} = commsched-opt %t.mlir --commsched-pipeline="%{options}" \
// DEFINE:   --dump-pass-pipeline -o /dev/null 2>&1
// DEFINE: %{schedule} = commsched-opt %t.mlir --commsched-report="format=json output=%t.before" \
// DEFINE:   --commsched-pipeline="%{options}" --commsched-report="format=json output=%t.after"
// DEFINE: %{check-steps} = %python %S/Inputs/check_step_times.py %t.before %t.after

// RUN: %{dump} | FileCheck %s --check-prefixes=PASSES,DEFAULTS
// RUN: %{schedule} > %t
// RUN: FileCheck %s --check-prefixes=CHECK < %t
// RUN: %{check-steps}
// REDEFINE: %{options} = bitwise
// RUN: %{schedule} | FileCheck %s --check-prefixes=CHECK
// RUN: %{check-steps}
// REDEFINE: %{options} = memory-budget=275700000
// RUN: %{schedule} | FileCheck %s --check-prefix=BUDGETED
// RUN: %{check-steps}
// REDEFINE: %{options} = memory-budget=1000
// RUN: %{schedule} | FileCheck %s --check-prefix=EXCEEDED
// RUN: %{check-steps}

// What the pipeline consists of, and which of its options become what.
// REDEFINE: %{options} = bitwise buckets=gathers-and-reductions compute-slowdown=0.5 exclusive-groups frontier=%t.csv link-sharing memory-budget=7%% mode=coalesced slack=7 split=off strict profile=%src/data/cost-tables/h100-8gpu-xla.json target=b200
// RUN: %{dump} | FileCheck %s --check-prefixes=PASSES,OPTIONS

//      OPTIONS: commsched-set-costs{assume-fusion=false compute-slowdown={{5.*}} exclusive-groups=true link-sharing=true profile={{.+}}.json slack=7 target=b200},
// DEFAULTS:      test-commsched-merge-step{keep-parts=true}
//  OPTIONS-NEXT: test-commsched-merge-step{keep-parts=true}
//  PASSES-NEXT:  commsched-assume-fusion{renew=true}
// DEFAULTS-NEXT: test-commsched-callees-first{pipelines={func.func(
//  OPTIONS-NEXT: func.func(
// DEFAULTS-SAME:   test-commsched-infer-size-hints,
//  OPTIONS-NEXT:   test-commsched-infer-size-hints,
// DEFAULTS-SAME:   commsched-remove-unsharded-param-usage,
//  OPTIONS-NEXT:   commsched-remove-unsharded-param-usage,
// DEFAULTS-SAME:   commsched-reinplace-all-gather,
//  OPTIONS-NEXT:   commsched-reinplace-all-gather
//  OPTIONS-NEXT: ),
//  OPTIONS-NEXT: commsched-frontier{
//  OPTIONS-SAME:   bitwise=true buckets=gathers-and-reductions file={{.+}}.csv max-chunks=8 memory-budget=7% mode=coalesced split=off
//  OPTIONS-NEXT: test-commsched-callees-first{pipelines={func.func(
//  PASSES-SAME:   commsched-schedule{
// DEFAULTS-SAME:   allocator=pytorch bitwise=false buckets=auto budget-on=live max-chunks=8 memory-budget=5% mode=auto pipeline-loops=true reserved-bytes=0 split=auto strict=false
//  OPTIONS-SAME:   allocator={{.*}}bitwise=true buckets=gathers-and-reductions budget-on=live max-chunks=8 memory-budget=7% mode=coalesced pipeline-loops=true reserved-bytes=0 split=off strict=true
//  PASSES-SAME:   test-commsched-choose-implementations{
// DEFAULTS-SAME:   memory-budget=5%
//  OPTIONS-SAME:   memory-budget=7%
//  PASSES-NEXT: commsched-assume-fusion{renew=true}

// It runs by its name in a pipeline as well.
// RUN: commsched-opt %t.mlir --pass-pipeline='builtin.module(commsched-pipeline{memory-budget=5%})' \
// RUN:   | diff %t -

// Options that make no sense.
// REDEFINE: %{options} = memory-budget=-5
// RUN: not %{dump} | FileCheck %s --check-prefix=BAD-BUDGET
// BAD-BUDGET: error: option 'memory-budget' of pass 'commsched-schedule' must not be negative, but is '-5'
// REDEFINE: %{options} = profile=%t.missing
// RUN: not %{dump} | FileCheck %s --check-prefix=BAD-PROFILE
// BAD-PROFILE: error: option 'profile' of pass 'commsched-set-costs' cannot be used: {{.*}}.missing
// REDEFINE: %{options} = frontier=%t.missing/frontier.csv
// RUN: not %{dump} | FileCheck %s --check-prefix=BAD-FRONTIER
// BAD-FRONTIER: error: cannot write the frontier to {{.*}}.missing/frontier.csv

// What it makes of a step.

LET $gather(W = P of N)
  $run(%W = all_gather %P on @g dim(0)
      {commsched.name = "P", commsched.module = "layers.N"}
      : !shard -> !whole)
LET $scatter(S = X as D of N)
  $run(%S = reduce_scatter X on @g reduction(avg) dim(0)
      {commsched.name = "D", commsched.module = "layers.N"}
      : !whole -> !shard)

!x = tensor<4xf32>
!shard = tensor<65536xf32>
!whole = tensor<131072xf32>

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.nvls" = 0, "commsched.intra_channels" = 1>>} {

commsched.group @g size(2)

// Messages take their time: four in a row take longer than a layer, so that the
// layers wait for them, and one for all four a third of it. Each block is one
// bucket, hidden behind the other block. One for both blocks would keep the first
// waiting for what the second needs. Copies pay where nothing hides the bucket: at
// the beginning and at the end.
// CHECK-LABEL: func.func @step(
// CHECK-NEXT: commsched.all_gather_copy_in
// CHECK-NEXT: commsched.all_gather {{.*}}"p00+p01+p02+p03"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.split_with_sizes_copy
// CHECK-NEXT: commsched.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} on {{.*}}"p10+p11+p12+p13"
// CHECK-NEXT: "layer"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "layer"
// CHECK-NEXT: "gradient"
// CHECK-NEXT: commsched.reduce_scatter {{.*}}"d10+d11+d12+d13"
// CHECK-NEXT: "gradient"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.chunk_cat
// CHECK-NEXT: commsched.reduce_scatter {{.*}}"d00+d01+d02+d03"
// CHECK: commsched.wait
// CHECK-NOT: commsched.wait
// CHECK: return

// Here there is no memory for copies.
// BUDGETED-LABEL: func.func @step(
// BUDGETED-NEXT: commsched.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} on {{.*}}"p00+p01+p02+p03"
// BUDGETED-NEXT: commsched.wait
// BUDGETED-NEXT: commsched.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} on {{.*}}"p10+p11+p12+p13"
// BUDGETED-NEXT: "layer"
//  BUDGETED-NOT: {{copy_in|chunk_cat}}

// A budget that nothing keeps to: copies would take more than the program does.
// EXCEEDED-LABEL: func.func @step(
// EXCEEDED-NOT: {{copy_in|chunk_cat}}
// EXCEEDED: commsched.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} on {{.*}}"p00+p01+p02+p03"
// EXCEEDED-NOT: {{copy_in|chunk_cat}}
// EXCEEDED: commsched.reduce_scatter
// EXCEEDED-NOT: {{copy_in|chunk_cat}}
func.func @step(%x: !x, %state: tensor<67108864xf32>, %p00: !shard $parameter, %p01: !shard $parameter,
    %p02: !shard $parameter, %p03: !shard $parameter, %p10: !shard $parameter, %p11: !shard $parameter,
    %p12: !shard $parameter, %p13: !shard $parameter) -> (!shard, !shard, !shard, !shard, !shard, !shard,
    !shard, !shard) {
  $gather(w00 = p00 of 0)
  $gather(w01 = p01 of 0)
  $gather(w02 = p02 of 0)
  $gather(w03 = p03 of 0)
  %x0 = commsched.compute "layer"(%x, %w00, %w01, %w02, %w03)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100000}
      : (!x, !whole, !whole, !whole, !whole) -> !x
  $gather(w10 = p10 of 1)
  $gather(w11 = p11 of 1)
  $gather(w12 = p12 of 1)
  $gather(w13 = p13 of 1)
  %x1 = commsched.compute "layer"(%x0, %w10, %w11, %w12, %w13)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100000}
      : (!x, !whole, !whole, !whole, !whole) -> !x
  %d1:5 = commsched.compute "gradient"(%x1)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100000}
      : (!x) -> (!x, !whole, !whole, !whole, !whole)
  $scatter(s10 = %d1#1 as d10 of 1)
  $scatter(s11 = %d1#2 as d11 of 1)
  $scatter(s12 = %d1#3 as d12 of 1)
  $scatter(s13 = %d1#4 as d13 of 1)
  %d0:5 = commsched.compute "gradient"(%d1#0)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100000}
      : (!x) -> (!x, !whole, !whole, !whole, !whole)
  $scatter(s00 = %d0#1 as d00 of 0)
  $scatter(s01 = %d0#2 as d01 of 0)
  $scatter(s02 = %d0#3 as d02 of 0)
  $scatter(s03 = %d0#4 as d03 of 0)
  return %s00, %s01, %s02, %s03, %s10, %s11, %s12, %s13
      : !shard, !shard, !shard, !shard, !shard, !shard, !shard, !shard
}
}
