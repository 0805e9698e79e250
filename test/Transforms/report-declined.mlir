// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-report=format=json \
// RUN:   -o /dev/null %remarks 2>&1 | FileCheck %s
// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON

// A function that cannot be simulated has no line, but a remark that says why;
// the others have theirs. What is not known of an operation or a value is
// assumed, and counted.

commsched.group @dp size(2)

// CHECK: remark: [Analysis] AssumedTime | Category:commsched | Function=dynamic
// CHECK-SAME: aten.relu is assumed to take 1000 ns, the least by what is known of it: the size of operand 0
// CHECK-SAME: tensor<?xf32>
// CHECK: AssumedSize {{.*}}Function=dynamic
// CHECK: AssumedSize {{.*}}Function=dynamic
// JSON: {"function":"dynamic",{{.*}}"step_time_ns":1000,{{.*}}"peak_memory_bytes":0,
// JSON-SAME: "costs":{"source":"model","ops":1,"measured_ops":0,"pinned_ops":0,"assumed_ops":1,"measured_percent":0},"unsized_values":2,"evidence":"simulated: target h100; costs: model (1 of 1 operations assumed); memory: without 2 values of unknown size"}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = commsched.compute "aten.relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// All costs are known here, but not all sizes.
// CHECK: remark: [Analysis] AssumedSize | Category:commsched | Function=dynamic_with_costs
// CHECK-SAME: the size of a tensor<?xf32> is not known
// JSON: {"function":"dynamic_with_costs",
// JSON-SAME: "unsized_values":1,"evidence":"simulated: costs pinned in the program (commsched.runtime_ns); memory: without 1 value of unknown size"}
func.func @dynamic_with_costs(%x: tensor<4xf32>) -> tensor<?xf32> {
  %y = commsched.compute "aten.nonzero"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// A loop whose iterations nobody counts.
// CHECK: remark: [Analysis] AssumedTime | Category:commsched | Function=loop
// CHECK-SAME: scf.for is assumed to take 80 ns, the least by what is known of it: how many iterations 'scf.for' has is not known, so that they count as 16; 'commsched.trip_count' on it gives their number
// JSON: {"function":"loop",{{.*}}"step_time_ns":80,{{.*}}"pinned_ops":0,"assumed_ops":1,
func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    "other.pinned"() {commsched.runtime_ns = 5 : i64} : () -> ()
  }
  return
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
