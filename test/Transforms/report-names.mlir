// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | %python -m json.tool | FileCheck %s
// RUN: commsched-opt %s --commsched-report=format=trace -o /dev/null \
// RUN:   | %python %S/Inputs/check_trace.py | FileCheck %s --check-prefix=TRACE

// Names may hold what JSON has to escape, and bytes that are no UTF-8.

commsched.group @"dp\FF" size(2)

// CHECK: "function": "a \"quoted\" name"
// CHECK: "name": "back\\slash\ufffd"
// CHECK: "group": "dp\ufffd"
// CHECK: "limiting_factor": "data\ufffd"
// CHECK-NEXT: "pass": "mine\ufffd"
// CHECK: "peak_values": [
// CHECK: "name": "bytes\ufffd"
// CHECK: "name": "argument\ufffd"
// TRACE: process_name @a "quoted" name
func.func @"a \22quoted\22 name"(%x: tensor<4xf32> {commsched.name = "argument\FD"}) {
  %y = commsched.compute "bytes\FE" (%x) {commsched.runtime_ns = 3 : i64}
      : (tensor<4xf32>) -> tensor<8xf32>
  commsched.barrier on @"dp\FF" {
      commsched.name = "back\\slash\FE", commsched.runtime_ns = 1 : i64,
      commsched.reorder_info = {
        comm_ns = 1 : i64, compute_ns = 0 : i64, exposed_before_ns = 1 : i64,
        exposed_after_ns = 1 : i64, moves = 0 : i64, grouped = 0 : i64,
        limiting_factor = "data\FC", pass = "mine\FB"}}
  return
}
