// DEFINE: %{options} = reorder_iterative_peak_memory_budget=0
// DEFINE: %{run} = commsched-opt %s \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory="%{options}"

// RUN: %{run} --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t

// How far a start rises is a matter of single bytes: of each pair of functions,
// the second allows one byte less than the move takes. The budget is what the
// functions say, and nothing on top.

commsched.group @g size(2)

// The result is live from the start on: beside "make", its use and x that are
// 50 + 100 + 10 + 50 bytes.
// REMARK: Function=result
// REMARK-SAME: its start moves up by 2, limited by nothing
// CHECK-LABEL: func.func @result(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "make"
// CHECK-NEXT: "use"
func.func @result(%x: tensor<50xi8>) -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 210 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use, %w : tensor<10xi8>, tensor<50xi8>
}

// REMARK: Function=result_less
// REMARK-SAME: Moved=0,
// REMARK-SAME: its start stays, limited by memory: passing use takes 210 bytes of 209
// CHECK-LABEL: func.func @result_less(
// CHECK-NEXT: "make"
// CHECK-NEXT: "use"
// CHECK-NEXT: "ar"
func.func @result_less(%x: tensor<50xi8>) -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 209 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use, %w : tensor<10xi8>, tensor<50xi8>
}
