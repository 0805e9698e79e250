// RUN: split-file %s %t

// What was measured of two gathers is what the passes know of them when they
// merge them: the merged one takes as much longer than its estimate.
// RUN: commsched-opt %t/step.mlir --commsched-pipeline=profile=%t/slow.json \
// RUN:   | FileCheck %s --check-prefix=SLOW
// SLOW: commsched.name = "first+second", {{.*}}commsched.runtime_ns = 9{{[0-9][0-9][0-9][0-9][0-9]}} : i64

// RUN: commsched-opt %t/step.mlir --commsched-pipeline=profile=%t/slack.json -o /dev/null
// RUN: not commsched-opt %t/step.mlir --commsched-pipeline=profile=%t/bad-slack.json 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BAD
// BAD: bad-slack.json: cost table: 'slack_percent' must be an integer from 0 to 1000

//--- step.mlir
commsched.group @g size(4)
func.func @step(%a: tensor<64xf32>, %b: tensor<64xf32>)
    -> (tensor<256xf32>, tensor<256xf32>) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "first"}
      : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<256xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "second"}
      : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<256xf32>>
  return %w1, %w2 : tensor<256xf32>, tensor<256xf32>
}

//--- slow.json
{"operations": [
   {"operator": "commsched.all_gather", "name": "first", "time_ns": 900000},
   {"operator": "commsched.all_gather", "name": "second", "time_ns": 900000}],
 "rows": []}

//--- slack.json
{"slack_percent": 12, "rows": []}

//--- bad-slack.json
{"slack_percent": 1001, "rows": []}
