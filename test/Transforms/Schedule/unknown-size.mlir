// RUN: commsched-opt %s > %t.input
// RUN: commsched-opt %s --commsched-schedule=strict \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=remark:
// RUN: diff %t.input %t
// RUN: commsched-opt %s --commsched-frontier=file=%t.csv \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FRONTIER --implicit-check-not=remark:
// FRONTIER: remark: [Missed] BlockNotInFrontier | Category:commsched | Function=dynamic
// FRONTIER-SAME: the frontier is without a block that cannot be scheduled: {{.*}}the size of a tensor<?xi8> is not known
// RUN: FileCheck %s --check-prefix=CSV --implicit-check-not=dynamic < %t.csv

// A block with a size that is not known stays as it is, and is not in the
// frontier.

commsched.group @g size(2)

// CSV: function,budget_bytes
// CHECK: [[@LINE+3]]:8: remark: [Missed] BlockKept | Category:commsched | Function=dynamic
// CHECK-SAME: not reordered: the size of a tensor<?xi8> is not known
func.func @dynamic(%x: tensor<4xi8>) -> (tensor<?xi8>, tensor<4xi8>, tensor<4xi8>) {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<?xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %b = commsched.compute "b"(%x) : (tensor<4xi8>) -> tensor<4xi8>
  return %a, %b, %w : tensor<?xi8>, tensor<4xi8>, tensor<4xi8>
}
