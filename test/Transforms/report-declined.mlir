// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:   --commsched-report=format=json -o /dev/null --remark-policy=all \
// RUN:   --remark-format=emitRemark --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s
// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:   --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON

// A function that cannot be simulated has no line, but a remark that says why;
// the others have theirs.

commsched.group @dp size(2)

// CHECK: remark: [Missed] FunctionNotSimulated | Category:commsched | Function=dynamic
// CHECK-SAME: @dynamic is not simulated: aten.relu: the size of operand 0
// CHECK-SAME: tensor<?xf32>
// JSON-NOT: "dynamic"
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = commsched.compute "aten.relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// All costs are known here, but not all sizes.
// CHECK: remark: [Missed] FunctionNotSimulated | Category:commsched | Function=dynamic_with_costs
// CHECK-SAME: @dynamic_with_costs is not simulated: the size of a
// CHECK-SAME: tensor<?xf32>
func.func @dynamic_with_costs(%x: tensor<4xf32>) -> tensor<?xf32> {
  %y = commsched.compute "aten.nonzero"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// CHECK: remark: [Missed] FunctionNotSimulated | Category:commsched | Function=blocks
// CHECK-SAME: @blocks is not simulated: its body has several blocks
func.func @blocks() {
  cf.br ^next
^next:
  return
}

// CHECK: {"function":"static",
// JSON: {"function":"static",
func.func @static(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = commsched.compute "aten.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
