// The report prices what is not pinned as commsched-schedule does.
// RUN: split-file %s %t
// RUN: %prints commsched-opt %t/step.mlir -o /dev/null \
// RUN:   --commsched-set-costs=profile=%t/profile.json --commsched-report=format=json \
// RUN:   '"step_time_ns":27500,'
// RUN: commsched-opt %t/step.mlir -o %t/estimated.mlir \
// RUN:   --commsched-set-costs=target=a100 --commsched-estimate-runtime
// RUN: commsched-opt %t/estimated.mlir -o /dev/null \
// RUN:   --commsched-report="format=json output=%t/estimated.json"
// RUN: commsched-opt %t/step.mlir -o /dev/null \
// RUN:   --commsched-set-costs=target=a100 --commsched-report="format=json output=%t/a100.json"
// RUN: sed 's/,"target":.*//' %t/estimated.json > %t/estimated.times
// RUN: sed 's/,"target":.*//' %t/a100.json | diff %t/estimated.times -
// RUN: %fails commsched-opt %t/step.mlir --commsched-set-costs=profile=%t/missing.json --commsched-report "error: option 'profile' of pass 'commsched-set-costs' cannot be used: {{.*}}missing.json"

//--- step.mlir
commsched.group @g size(4)
func.func @step(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<4096x4096xf32>)
    -> (tensor<256xf32>, tensor<256xf32>, tensor<4096x4096xf32>) {
  %f1 = commsched.all_gather %a on @g dim(0) : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<256xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.runtime_ns = 7500 : i64}
      : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %d = commsched.compute "aten.mm"(%c, %c) {flops = 1.3e11 : f64, commsched.runtime_ns = 10 : i64}
      : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<256xf32>>
  return %w1, %w2, %d : tensor<256xf32>, tensor<256xf32>, tensor<4096x4096xf32>
}

//--- profile.json
[{"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 1024, "time_ns": 20000}]
