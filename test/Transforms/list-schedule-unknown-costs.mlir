// RUN: commsched-opt %s --commsched-reorder-compute-for-overlap \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched 2>&1 | FileCheck %s
// RUN: commsched-opt %s --commsched-raise-comms | FileCheck %s --check-prefix=RAISE

// Reordering for overlap needs costs; an operation that nobody can price has an
// assumed one. Raising needs none.

commsched.group @g size(2)

// CHECK: remark: [Analysis] AssumedTime | Category:commsched | Function=dynamic
// CHECK-SAME: aten.nonzero 'unpriced' is assumed to take 1000 ns, the least by what is known of it: the size of result 0 of 'commsched.compute', a
// CHECK-SAME: tensor<?xf32>
// CHECK-SAME: , is not static
// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: aten.nonzero
// RAISE-LABEL: func.func @dynamic(
// RAISE-NEXT: commsched.all_reduce
// RAISE-NEXT: aten.nonzero
func.func @dynamic(%x: tensor<4xf32>) {
  %a = commsched.compute "aten.nonzero"(%x) {commsched.name = "unpriced"}
      : (tensor<4xf32>) -> tensor<?xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// A pin is a cost.
// CHECK-LABEL: func.func @pinned(
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: aten.nonzero
func.func @pinned(%x: tensor<4xf32>) {
  %a = commsched.compute "aten.nonzero"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xf32>) -> tensor<?xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}
