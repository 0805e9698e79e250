// DEFINE: %{options} = sink_iterative_peak_memory_budget=0
// DEFINE: %{run} = commsched-opt %s --commsched-sink-waits-iterative="%{options}"

// RUN: %{run} --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t

// How far a wait sinks is a matter of single bytes: of each pair of functions,
// the second allows one byte less than the move takes. The budget is what the
// functions say, and nothing on top.

commsched.group @g size(2)

// What is sent stays until the wait: beside "large" 50 + 50 + 100 bytes.
// REMARK: Function=operand
// REMARK-SAME: its wait moves down by 1, limited by nothing
// CHECK-LABEL: func.func @operand(
// CHECK-NEXT: "make"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "large"
// CHECK-NEXT: commsched.wait
func.func @operand() -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 200 : i64} {
  %make = commsched.compute "make"() : () -> tensor<50xi8>
  %f = commsched.all_reduce %make on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w : tensor<100xi8>, tensor<50xi8>
}

// REMARK: Function=operand_less
// REMARK-SAME: its wait stays, limited by memory: passing large takes 200 bytes of 199
// CHECK-LABEL: func.func @operand_less(
// CHECK-NEXT: "make"
// CHECK-NEXT: "ar"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "large"
func.func @operand_less() -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 199 : i64} {
  %make = commsched.compute "make"() : () -> tensor<50xi8>
  %f = commsched.all_reduce %make on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w : tensor<100xi8>, tensor<50xi8>
}
