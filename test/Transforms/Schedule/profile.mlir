// RUN: split-file %s %t
// DEFINE: %{profile} =
// DEFINE: %{run} = commsched-opt %t/step.mlir -o %t/scheduled.mlir \
// DEFINE:   --commsched-pipeline=profile=%t/%{profile}.json %remarks 2>&1 | \
// DEFINE:   FileCheck %s --check-prefix

// Measured times price collectives as they stand and what they become.

// REDEFINE: %{profile} = one-is-better
// RUN: %{run} MERGED && FileCheck %s --check-prefix=ONE < %t/scheduled.mlir
// REDEFINE: %{profile} = two-are-better
// RUN: %{run} ALONE && FileCheck %s --check-prefix=TWO < %t/scheduled.mlir

// MERGED: Function=step
// MERGED-SAME: the step takes 25000 ns instead of 40000
// ALONE: not reordered: no better schedule is known than the program's, which takes 40000 ns
// ONE-COUNT-1: commsched.all_gather %
// ONE-NOT: commsched.all_gather %
// TWO-COUNT-2: commsched.all_gather %

// What was measured of two gathers is what the passes know of them when they
// merge them: the merged one takes as much longer than its estimate.
// RUN: %prints commsched-opt %t/step.mlir --commsched-pipeline=profile=%t/slow.json 'commsched.name = "first+second", {{.*}}commsched.runtime_ns = 9{{[0-9][0-9][0-9][0-9][0-9]}} : i64'

//--- step.mlir
commsched.group @g size(4)
func.func @step(%a: tensor<64xf32>, %b: tensor<64xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "first"}
      : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<256xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "second"}
      : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<256xf32>>
  return %w1, %w2 : tensor<256xf32>, tensor<256xf32>
}

//--- one-is-better.json
[{"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 1024, "time_ns": 20000},
 {"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 2048, "time_ns": 25000}]

//--- two-are-better.json
[{"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 1024, "time_ns": 20000},
 {"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 2048, "time_ns": 45000}]

//--- slow.json
{"operations": [
   {"operator": "commsched.all_gather", "name": "first", "time_ns": 900000},
   {"operator": "commsched.all_gather", "name": "second", "time_ns": 900000}],
 "rows": []}
