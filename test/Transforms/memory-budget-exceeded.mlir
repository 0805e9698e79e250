// DEFINE: %{pass} =
// DEFINE: %{run} = commsched-opt %s %{pass} %remarks -o %t

// REDEFINE: %{pass} = --commsched-reorder-comms-preserving-peak-memory=memory-budget=100
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,RAISE
// RUN: FileCheck %s --check-prefixes=CHECK,RAISE-IR < %t
// REDEFINE: %{pass} = --commsched-sink-waits-iterative=memory-budget=100
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,SINK
// RUN: FileCheck %s --check-prefixes=CHECK,SINK-IR < %t

// Programs that take more than the budget of 100 bytes.

commsched.group @g size(2)

// Arguments alone do. The order that needs least is what is left to
// do, and the remark says how far that is.
// REMARK: [[@LINE+10]]:1: remark: [Missed] BudgetExceeded | Category:commsched | Function=arguments
// REMARK-SAME: ArgumentBytes=110, BudgetBytes=100, PeakBytes=132,
// REMARK-SAME: the schedule that needs least takes 132 bytes, 32 over the budget of 100; arguments alone take 110
// CHECK-LABEL: func.func @arguments(
// CHECK-SAME: attributes {commsched.baseline_peak_bytes = 143 : i64}
// CHECK-NEXT: "a"
// CHECK-NEXT: "c"
// CHECK-NEXT: "b"
// CHECK-NEXT: "d"
// CHECK-NEXT: commsched.all_reduce
func.func @arguments(%x: tensor<20xi8>, %y: tensor<90xi8>)
    -> (tensor<1xi8>, tensor<1xi8>, tensor<20xi8>) {
  %a = commsched.compute "a"() : () -> tensor<16xi8>
  %b = commsched.compute "b"() : () -> tensor<16xi8>
  %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
  %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<20xi8> -> !commsched.future<tensor<20xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<20xi8>>
  return %c, %d, %w : tensor<1xi8>, tensor<1xi8>, tensor<20xi8>
}

// Nothing is there to reorder: the program stays as it is, without a baseline.
// REMARK: remark: [Missed] BudgetExceeded | Category:commsched | Function=nothing_to_do
// REMARK-SAME: the schedule that needs least takes 101 bytes, 1 over the budget of 100; arguments alone take 100
// CHECK-LABEL: func.func @nothing_to_do(
// CHECK-NOT: baseline
func.func @nothing_to_do(%x: tensor<1xi8>, %y: tensor<99xi8>) -> tensor<1xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<1xi8> -> !commsched.future<tensor<1xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<1xi8>>
  return %w : tensor<1xi8>
}

// Another order keeps the budget, and from there collectives move as far as it
// allows.
// REMARK-NOT: Exceeded
// REMARK: remark: [Passed] BlockReordered | Category:commsched | Function=another_order
// REMARK-SAME: lowers the peak memory from {{[0-9]+}} to {{[0-9]+}} bytes, for a budget of 100
// REMARK-NOT: Exceeded
// RAISE: CollectiveMoved
// RAISE-SAME: Function=another_order
// RAISE-SAME: its start moves up by 1, limited by memory: passing d takes 115 bytes of 100
// SINK: CollectiveKept
// SINK-SAME: Function=another_order
// SINK-SAME: its wait stays, limited by nothing
// CHECK-LABEL: func.func @another_order(
// CHECK-SAME: attributes {commsched.baseline_peak_bytes = 110 : i64}
// CHECK-NEXT: "a"
// CHECK-NEXT: "c"
// CHECK-NEXT: "b"
// CHECK-NEXT: "d"
// RAISE-IR-NEXT: commsched.all_reduce
// RAISE-IR-NEXT: "e"
// SINK-IR-NEXT: "e"
// SINK-IR-NEXT: commsched.all_reduce
func.func @another_order(%x: tensor<20xi8>, %y: tensor<57xi8>)
    -> (tensor<1xi8>, tensor<1xi8>, tensor<20xi8>) {
  %a = commsched.compute "a"() : () -> tensor<16xi8>
  %b = commsched.compute "b"() : () -> tensor<16xi8>
  %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
  %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
  %e = commsched.compute "e"(%d) : (tensor<1xi8>) -> tensor<1xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<20xi8> -> !commsched.future<tensor<20xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<20xi8>>
  return %c, %e, %w : tensor<1xi8>, tensor<1xi8>, tensor<20xi8>
}
