// RUN: commsched-opt %s --commsched-schedule=memory-budget=100 \
// RUN:   --commsched-report="format=json output=%t.json" -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WARNING
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// RUN: FileCheck %s --check-prefix=IR < %t
// RUN: commsched-opt %t --commsched-schedule=memory-budget=101 --commsched-report -o %t.met 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=MET,TABLE
// RUN: FileCheck %s --check-prefix=MET-IR < %t.met
// RUN: commsched-opt %s --commsched-pipeline=memory-budget=101 -o /dev/null 2>&1 | FileCheck %s --check-prefix=MET
// RUN: not commsched-opt %s --commsched-schedule="memory-budget=50 strict" -o /dev/null 2>&1 | FileCheck %s --check-prefix=LESS
// RUN: commsched-opt %s -o /dev/null --commsched-pipeline="memory-budget=101 pipeline-loops" 2>&1 | FileCheck %s --check-prefix=MET
// RUN: not commsched-opt %s --commsched-schedule="memory-budget=101 strict" -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRICT

// A budget that no schedule meets: a warning for each function, of what takes
// the memory, and a figure for reports.

commsched.group @g size(2)

// WARNING: [[@LINE+8]]:1: warning: 'arguments': memory-budget=100 cannot be met: the schedule that needs least takes 101 bytes, 1 over the budget of 100; arguments alone take 100; at the peak, arguments take 100, results of collectives 1 and other values 0
// REPORT: "function":"arguments",{{.*}}"peak_memory_bytes":101,{{.*}}"over_budget":1,
// IR: @arguments({{.*}}commsched.over_budget_bytes = 1 : i64
// MET-NOT: 'arguments'
// MET-IR: @arguments(
// MET-IR-NOT: over_budget
// MET-IR: @in_loop(
// STRICT-NOT: 'arguments'
func.func @arguments(%x: tensor<1xi8>, %y: tensor<99xi8>) -> tensor<1xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<1xi8> -> !commsched.future<tensor<1xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<1xi8>>
  return %w : tensor<1xi8>
}

// What a loop takes is the function's, said once.
// WARNING: [[@LINE+11]]:1: warning: 'in_loop': memory-budget=100 cannot be met: the schedule that needs least takes 102 bytes, 2 over the budget of 100
// WARNING-NOT: warning:
// REPORT: "function":"in_loop",{{.*}}"peak_memory_bytes":102,{{.*}}"over_budget":2,
// IR: @in_loop({{.*}}commsched.over_budget_bytes = 2 : i64
// MET: warning: 'in_loop': memory-budget=101 cannot be met: the schedule that needs least takes 102 bytes, 1 over the budget of 101
// MET-NOT: warning:
// TABLE: function @in_loop
// TABLE: over budget {{ *}}1 B{{ *}}no known schedule meets it
// MET-IR-SAME: commsched.over_budget_bytes = 1 : i64
// STRICT: error: cannot be scheduled: the schedule that needs least takes 2 bytes, 1 over the budget of 1; arguments alone take 0; the rest of the budget is live around it; at the peak, arguments take 0, results of collectives 2 and other values 0
// LESS: error: cannot be scheduled: the schedule that needs least takes 2 bytes, but what is live around it is 50 over the budget already; arguments alone take 0; at the peak, arguments take 0,
func.func @in_loop(%x: tensor<2xi8>, %y: tensor<98xi8>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %f = commsched.all_reduce %x on @g reduction(max)
        : tensor<2xi8> -> !commsched.future<tensor<2xi8>>
    %w = commsched.wait %f : !commsched.future<tensor<2xi8>>
  }
  return
}

// REPORT: "function":"fits",
// REPORT-NOT: over_budget
// IR: @fits(
// IR-NOT: over_budget
func.func @fits(%x: tensor<1xi8>) -> tensor<1xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<1xi8> -> !commsched.future<tensor<1xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<1xi8>>
  return %w : tensor<1xi8>
}
