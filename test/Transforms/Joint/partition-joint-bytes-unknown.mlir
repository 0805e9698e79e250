// A size that is not known counts as 0 bytes in the peak, with a remark.

// RUN: commsched-opt %s -o /dev/null --remarks-filter=commsched \
// RUN:   --commsched-partition-joint=memory-budget=20 2>&1 | FileCheck %s

// CHECK: remark: [Analysis] AssumedSize
// CHECK-SAME: Function=step | Remark="live bytes, and what fits a memory budget, are without a value: the size of a memref<?xi8> is not known; 'commsched.size_hints' may give it"
// CHECK: remark: [Missed] PartitionOverBudget
// CHECK-SAME: LeastBytes=1040
// CHECK: remark: [Passed] Partitioned
// CHECK-SAME: SavedBytes=1000
func.func @step(
    %x: tensor<10xi8> {commsched.role = "input"},
    %n: index {commsched.role = "input"},
    %dy: tensor<10xi8> {commsched.role = "tangent"})
    -> (tensor<10xi8>, tensor<10xi8>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %a = commsched.compute "aten.mm"(%x) : (tensor<10xi8>) -> tensor<1000xi8>
  %m = memref.alloc(%n) : memref<?xi8>
  %y = commsched.compute "y"(%a, %m)
      : (tensor<1000xi8>, memref<?xi8>) -> tensor<10xi8>
  memref.dealloc %m : memref<?xi8>
  %g = commsched.compute "back"(%dy, %a)
      : (tensor<10xi8>, tensor<1000xi8>) -> tensor<10xi8>
  return %y, %g : tensor<10xi8>, tensor<10xi8>
}
