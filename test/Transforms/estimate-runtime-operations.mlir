// RUN: split-file %s %t
// DEFINE: %{profile} = profile
// DEFINE: %{estimate} = commsched-opt %t/program.mlir \
// DEFINE:   --commsched-estimate-runtime=profile=%t/%{profile}.json
// RUN: %{estimate} | FileCheck %s
// RUN: commsched-opt %t/program.mlir -o /dev/null \
// RUN:   --commsched-set-costs=profile=%t/profile.json --commsched-report | FileCheck %s --check-prefix=REPORT

// Measured by the name in this function; in any function; by operator and
// types; a pin comes first; a row of another operator does not apply. What was
// measured of a name comes before what was measured of its types, and what was
// measured of neither comes from the model.
// CHECK-LABEL: func.func @step
// CHECK: commsched.all_gather {{.*}}commsched.name = "gather", commsched.runtime_ns = 5000 : i64
// CHECK: "mm"{{.*}}commsched.name = "mm_1", commsched.runtime_ns = 7000 : i64
// CHECK: "mm"{{.*}}commsched.name = "mm_2", commsched.runtime_ns = 800 : i64
// CHECK: "mm"{{.*}}commsched.name = "mm_3", commsched.runtime_ns = 3 : i64
// CHECK: "mm"{{.*}}commsched.name = "mm_4", commsched.runtime_ns = 800 : i64
// CHECK: "neg"{{.*}}commsched.name = "neg", commsched.runtime_ns = {{[0-9]+}} : i64
// CHECK: commsched.wait {{.*}}commsched.runtime_ns = 0 : i64
// CHECK-LABEL: func.func @other
// CHECK: commsched.all_gather {{.*}}commsched.name = "gather", commsched.runtime_ns = 6000 : i64

// A report takes the same times and does not write them.
// REPORT: step time
// REPORT: {{gather.*5\.000 us}}

//--- program.mlir
commsched.group @dp size(4)
func.func @step(%a: tensor<64xf32>) -> tensor<256xf32> {
  %0 = commsched.all_gather %a on @dp dim(0) {commsched.name = "gather"} : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %1 = commsched.compute "mm"(%a) {commsched.name = "mm_1"} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = commsched.compute "mm"(%1) {commsched.name = "mm_2"} : (tensor<64xf32>) -> tensor<64xf32>
  %3 = commsched.compute "mm"(%2) {commsched.name = "mm_3", commsched.runtime_ns = 3 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  %4 = commsched.compute "mm"(%3) {commsched.name = "mm_4"} : (tensor<64xf32>) -> tensor<64xf32>
  %5 = commsched.compute "neg"(%4) {commsched.name = "neg"} : (tensor<64xf32>) -> tensor<64xf32>
  %6 = commsched.wait %0 {commsched.name = "wait"} : !commsched.future<tensor<256xf32>>
  return %6 : tensor<256xf32>
}
func.func @other(%a: tensor<64xf32>) -> tensor<256xf32> {
  %0 = commsched.all_gather %a on @dp dim(0) {commsched.name = "gather"} : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<256xf32>>
  return %1 : tensor<256xf32>
}

//--- profile.json
{"operations": [
   {"operator": "commsched.all_gather", "name": "gather", "function": "step", "time_ns": 5000},
   {"operator": "commsched.all_gather", "name": "gather", "time_us": 6},
   {"operator": "mm", "name": "mm_1", "time_ns": 7000, "spread_ns": 12},
   {"operator": "mm", "types": "(tensor<64xf32>) -> tensor<64xf32>", "time_ns": 800},
   {"operator": "add", "name": "neg", "time_ns": 1},
   {"operator": "commsched.wait", "name": "wait", "time_ns": 9}],
 "rows": []}
