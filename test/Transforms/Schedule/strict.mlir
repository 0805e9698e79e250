// RUN: commsched-opt %s --commsched-schedule=memory-budget=100 \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 | FileCheck %s
// RUN: commsched-opt %s -verify-diagnostics --mlir-disable-threading \
// RUN:   --commsched-schedule="memory-budget=100 strict" -o /dev/null
// RUN: commsched-opt %s --commsched-schedule="memory-budget=101 strict" \
// RUN:   -o /dev/null

// A budget that no order keeps: what needs least, and with `strict` an error.

commsched.group @g size(2)

// CHECK: [[@LINE+4]]:1: remark: [Missed] BudgetExceeded | Category:commsched | Function=arguments
// CHECK-SAME: ArgumentBytes=100, BudgetBytes=100, PeakBytes=101,
// CHECK-SAME: the schedule that needs least takes 101 bytes, 1 over the budget of 100; arguments alone take 100
// expected-error @below {{cannot be scheduled: the schedule that needs least takes 101 bytes, 1 over the budget of 100; arguments alone take 100}}
func.func @arguments(%x: tensor<1xi8>, %y: tensor<99xi8>) -> tensor<1xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<1xi8> -> !commsched.future<tensor<1xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<1xi8>>
  return %w : tensor<1xi8>
}
