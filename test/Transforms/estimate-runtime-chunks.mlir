// RUN: split-file %s %t
// RUN: commsched-opt %t/program.mlir --commsched-estimate-runtime | FileCheck %s --check-prefixes=CHECK,MODEL
// RUN: commsched-opt %t/program.mlir --commsched-estimate-runtime=profile=%t/profile.json | FileCheck %s --check-prefixes=CHECK,MEASURED
// RUN: not commsched-opt %t/program.mlir --commsched-estimate-runtime=profile=%t/invalid.json 2>&1 | FileCheck %s --check-prefix=INVALID

// INVALID: error: option 'profile' of pass 'commsched-estimate-runtime' cannot be used: {{.*}}invalid.json: product 1: column 'k' is missing

//--- program.mlir
// The whole is what it was without a rule: the roofline. The arithmetic of one
// of 8 chunks takes 8/7 of an eighth: a wave of 112 tiles, where the whole has 7
// waves. A chunk of an elementwise operation is a smaller operation.
// CHECK-LABEL: @step
// MODEL: "whole"{{.*}}commsched.runtime_ns = 152367 : i64
// MODEL: "chunk"{{.*}}commsched.runtime_ns = 22624 : i64
// MEASURED: "whole"{{.*}}commsched.runtime_ns = 200000 : i64
// MEASURED: "chunk"{{.*}}commsched.runtime_ns = 30500 : i64
// CHECK: "plain"{{.*}}commsched.runtime_ns = [[NS:[0-9]+]] : i64
// CHECK: "part"{{.*}}commsched.runtime_ns = [[NS]] : i64
func.func @step(%a: tensor<8192x4096xbf16>, %b: tensor<4096x1792xbf16>,
                %c: tensor<1024x4096xbf16>) {
  %0 = commsched.compute "whole"(%a, %b) {flops = 120259084288.0, split = "m k, k n -> m n"} : (tensor<8192x4096xbf16>, tensor<4096x1792xbf16>) -> tensor<8192x1792xbf16>
  %1 = commsched.compute "chunk"(%c, %b) {flops = 15032385536.0, split = "m k, k n -> m n", commsched.chunk = {of = "a", index = 1, count = 8, axis = 0, blocks = 1}} : (tensor<1024x4096xbf16>, tensor<4096x1792xbf16>) -> tensor<1024x1792xbf16>
  %2 = commsched.compute "plain"(%c) {flops = 1.0, split = "a b -> a b"} : (tensor<1024x4096xbf16>) -> tensor<1024x4096xbf16>
  %3 = commsched.compute "part"(%c) {flops = 1.0, split = "a b -> a b", commsched.chunk = {of = "b", index = 1, count = 8, axis = 0, blocks = 1}} : (tensor<1024x4096xbf16>) -> tensor<1024x4096xbf16>
  return
}

// The rows of a chunk between two measured numbers of rows are interpolated.
//--- profile.json
{"rows": [], "products": [
  {"m": 8192, "n": 1792, "k": 4096, "type": "bf16", "time_us": 200},
  {"m": 512, "n": 1792, "k": 4096, "type": "bf16", "time_ns": 20000},
  {"m": 1536, "n": 1792, "k": 4096, "type": "bf16", "time_ns": 41000}]}

//--- invalid.json
{"rows": [], "products": [
  {"m": 8192, "n": 1792, "k": 4096, "type": "bf16", "time_us": 200},
  {"m": 512, "n": 1792, "type": "bf16", "time_ns": 20000}]}
