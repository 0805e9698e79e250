// RUN: split-file %s %t
// DEFINE: %{profile} = profile
// DEFINE: %{estimate} = commsched-opt %t/program.mlir --allow-unregistered-dialect \
// DEFINE:   --commsched-estimate-runtime=profile=%t/%{profile}.json
// RUN: %{estimate} | grep test.ns | not grep -vE "runtime_ns = ([0-9]+) : i64.* test.ns = \1 : i64"
// RUN: commsched-opt %t/program.mlir --allow-unregistered-dialect -o /dev/null \
// RUN:   --commsched-set-costs=profile=%t/profile.json --commsched-report | FileCheck %s --check-prefix=REPORT

// Measured by the name in this function; in any function; by operator and
// types; a pin comes first; a row of another operator does not apply. What was
// measured of a name comes before what was measured of its types, and what was
// measured of neither comes from the model. Operations are marked with their time.

// A report takes the same times and does not write them.
// REPORT: step time
// REPORT: {{gather.*5\.000 us}}

//--- program.mlir
commsched.group @dp size(4)
func.func @step(%a: tensor<64xf32>) -> tensor<256xf32> {
  %0 = commsched.all_gather %a on @dp dim(0) {commsched.name = "gather", test.ns = 5000} : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %1 = commsched.compute "mm"(%a) {commsched.name = "mm_1", test.ns = 7000} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = commsched.compute "mm"(%1) {commsched.name = "mm_2", test.ns = 800} : (tensor<64xf32>) -> tensor<64xf32>
  %3 = commsched.compute "mm"(%2) {commsched.name = "mm_3", commsched.runtime_ns = 3 : i64, test.ns = 3} : (tensor<64xf32>) -> tensor<64xf32>
  %4 = commsched.compute "mm"(%3) {commsched.name = "mm_4", test.ns = 800} : (tensor<64xf32>) -> tensor<64xf32>
  %5 = commsched.compute "neg"(%4) {commsched.name = "neg"} : (tensor<64xf32>) -> tensor<64xf32>
  %6 = commsched.wait %0 {commsched.name = "wait", test.ns = 0} : !commsched.future<tensor<256xf32>>
  return %6 : tensor<256xf32>
}
func.func @other(%a: tensor<64xf32>) -> tensor<256xf32> {
  %0 = commsched.all_gather %a on @dp dim(0) {commsched.name = "gather", test.ns = 6000} : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
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
