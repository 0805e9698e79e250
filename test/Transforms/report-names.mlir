// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | %python -m json.tool | FileCheck %s
// RUN: commsched-opt %s --commsched-report=format=trace -o /dev/null \
// RUN:   | %python %S/Inputs/check_trace.py | FileCheck %s --check-prefix=TRACE

// Names may hold what JSON has to escape, and bytes that are no UTF-8.

commsched.group @"dp\FF" size(2)

// CHECK: "function": "a \"quoted\" name"
// CHECK: "name": "back\\slash\ufffd"
// CHECK: "group": "dp\ufffd"
// TRACE: process_name @a "quoted" name
func.func @"a \22quoted\22 name"(%x: tensor<4xf32>) {
  %y = commsched.compute "bytes\FE" (%x) {commsched.runtime_ns = 3 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  commsched.barrier on @"dp\FF"
      {commsched.name = "back\\slash\FE", commsched.runtime_ns = 1 : i64}
  return
}
