// The slack of a profile is that of the pass, unless the module says another one:
// with slack a gather starts earlier.

// RUN: %rows %s > %t.rows && split-file %t.rows %t
// RUN: commsched-opt %t/step.mlir --commsched-set-costs=slack=100 --commsched-schedule="buckets=off memory-budget=50%%" \
// RUN:   | sed 's/module attributes.*/module {/' > %t/100.mlir
// RUN: commsched-opt %t/step.mlir --commsched-set-costs=slack=0 --commsched-schedule="buckets=off memory-budget=50%%" \
// RUN:   | sed 's/module attributes.*/module {/' > %t/0.mlir
// RUN: not diff %t/0.mlir %t/100.mlir > /dev/null
// RUN: commsched-opt %t/step.mlir --commsched-set-costs=profile=%t/slack.json --commsched-schedule="buckets=off memory-budget=50%%" \
// RUN:   | sed 's/module attributes.*/module {/' | diff %t/100.mlir -
// RUN: commsched-opt %t/step.mlir --commsched-set-costs="profile=%t/slack.json slack=0" --commsched-schedule="buckets=off memory-budget=50%%" \
// RUN:   | sed 's/module attributes.*/module {/' | diff %t/0.mlir -
// RUN: sed 's/100/1001/' %t/slack.json > %t/large.json
// RUN: %fails commsched-opt %t/step.mlir --commsched-set-costs=profile=%t/large.json "large.json: cost table: 'slack_percent' must be an integer from 0 to 1000"

//--- slack.json
{"slack_percent": 100, "rows": []}

//--- step.mlir
commsched.group @shard size(4)
func.func @step(%a0: tensor<64xf32>, %a1: tensor<64xf32>, %a2: tensor<960xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<960xf32>) {
  $run(%w2 = all_gather %a0 on @shard dim(0) {commsched.runtime_ns = 128 : i64} : tensor<64xf32> -> tensor<256xf32>)
  %3 = commsched.compute "op"(%a2, %w2) {commsched.runtime_ns = 109 : i64} : (tensor<960xf32>, tensor<256xf32>) -> (tensor<960xf32>)
  %4 = commsched.compute "op"(%3) {commsched.runtime_ns = 7 : i64} : (tensor<960xf32>) -> (tensor<960xf32>)
  $run(%w6 = all_gather %a1 on @shard dim(0) {commsched.runtime_ns = 114 : i64} : tensor<64xf32> -> tensor<256xf32>)
  %7 = commsched.compute "op"(%4, %w6) {commsched.runtime_ns = 110 : i64} : (tensor<960xf32>, tensor<256xf32>) -> (tensor<960xf32>)
  %8 = commsched.compute "op"(%7) {commsched.runtime_ns = 8 : i64} : (tensor<960xf32>) -> (tensor<960xf32>)
  %9 = commsched.compute "op"(%8) {commsched.runtime_ns = 20 : i64} : (tensor<960xf32>) -> (tensor<960xf32>)
  $run(%w11 = all_gather %a1 on @shard dim(0) {commsched.runtime_ns = 114 : i64} : tensor<64xf32> -> tensor<256xf32>)
  %12 = commsched.compute "op"(%9, %w11) {commsched.runtime_ns = 110 : i64} : (tensor<960xf32>, tensor<256xf32>) -> (tensor<960xf32>)
  %13 = commsched.compute "op"(%9, %4) {commsched.runtime_ns = 110 : i64} : (tensor<960xf32>, tensor<960xf32>) -> (tensor<256xf32>)
  $run(%w15 = reduce_scatter %13 on @shard reduction(sum) dim(0) {commsched.runtime_ns = 114 : i64} : tensor<256xf32> -> tensor<64xf32>)
  $run(%w17 = all_gather %a0 on @shard dim(0) {commsched.runtime_ns = 128 : i64} : tensor<64xf32> -> tensor<256xf32>)
  %18 = commsched.compute "op"(%12, %w17) {commsched.runtime_ns = 109 : i64} : (tensor<960xf32>, tensor<256xf32>) -> (tensor<960xf32>)
  %19 = commsched.compute "op"(%12, %a2) {commsched.runtime_ns = 109 : i64} : (tensor<960xf32>, tensor<960xf32>) -> (tensor<256xf32>)
  $run(%w21 = reduce_scatter %19 on @shard reduction(sum) dim(0) {commsched.runtime_ns = 128 : i64} : tensor<256xf32> -> tensor<64xf32>)
  return %w15, %w21, %18 : tensor<64xf32>, tensor<64xf32>, tensor<960xf32>
}
