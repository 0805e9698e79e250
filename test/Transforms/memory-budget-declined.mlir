// DEFINE: %{run} = commsched-opt %s %remarks -o %t

// A time that is not known is assumed, and a size counts as 0 bytes.
// RUN: %{run} \
// RUN:   --commsched-reorder-comms-preserving-peak-memory="reorder_iterative_use_runtime_estimations=true reorder_sink_verbose_logging=true" \
// RUN:   2>&1 | FileCheck %s --check-prefixes=SIZE,COST,RAISE
// RUN: %{run} \
// RUN:   --commsched-sink-waits-iterative="sink_iterative_use_runtime_estimations=true reorder_sink_verbose_logging=true" \
// RUN:   2>&1 | FileCheck %s --check-prefixes=SIZE,COST,SINK

// The same without estimates.
// RUN: %{run} --commsched-reorder-comms-preserving-peak-memory 2>&1 | \
// RUN:   FileCheck %s --check-prefixes=SIZE,RAISE
// RUN: FileCheck %s --check-prefix=MOVED < %t
// RUN: %{run} --commsched-sink-waits-iterative 2>&1 | FileCheck %s --check-prefixes=SIZE,SINK
// RUN: %{run} --commsched-simple-overlap 2>&1 | FileCheck %s --check-prefixes=SIZE,RAISE
// RUN: FileCheck %s --check-prefix=MOVED < %t

commsched.group @g size(2)

// SIZE: [[@LINE+4]]:8: remark: [Analysis] AssumedSize | Category:commsched | Function=dynamic_size
// SIZE-SAME: are without a value: the size of a tensor<?xi8> is not known
func.func @dynamic_size(%x: tensor<4xi8>)
    -> (tensor<?xi8>, tensor<4xi8>, tensor<4xi8>) {
  %a = commsched.compute "a"(%x) : (tensor<4xi8>) -> tensor<?xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %b = commsched.compute "b"(%x) : (tensor<4xi8>) -> tensor<4xi8>
  return %a, %b, %w : tensor<?xi8>, tensor<4xi8>, tensor<4xi8>
}

// COST: [[@LINE+12]]:8: remark: [Analysis] AssumedTime | Category:commsched | Function=unknown_cost
// COST-SAME: unpriced is assumed to take 1000 ns, the least by what is known of it: the size of operand 0 of 'commsched.compute', a
// RAISE: CollectiveMoved {{.*}}Function=unknown_cost
// RAISE-SAME: its start moves up by 2, limited by nothing
// SINK: CollectiveMoved {{.*}}Function=unknown_cost
// SINK-SAME: its wait moves down by 1, limited by nothing
// MOVED-LABEL: func.func @unknown_cost(
// MOVED-NEXT: commsched.all_reduce
// MOVED-NEXT: tensor.cast
// MOVED-NEXT: "unpriced"
func.func @unknown_cost(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %v = tensor.cast %x : tensor<4xi8> to tensor<?xi8>
  %a = commsched.compute "unpriced"(%v) : (tensor<?xi8>) -> tensor<4xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %b = commsched.compute "b"(%x) : (tensor<4xi8>) -> tensor<4xi8>
  return %a, %w : tensor<4xi8>, tensor<4xi8>
}
