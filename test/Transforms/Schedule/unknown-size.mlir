// RUN: commsched-opt %s --commsched-schedule \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=Assumed
// RUN: FileCheck %s --check-prefix=IR < %t
// RUN: commsched-opt %s --commsched-frontier=file=%t.csv \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=remark:
// RUN: FileCheck %s --check-prefix=CSV < %t.csv

// A size that is not known counts as 0 bytes; the block is scheduled, and in the
// frontier.

commsched.group @g size(2)

// CSV: function,budget_bytes
// CSV-NEXT: dynamic,
// CHECK: [[@LINE+8]]:8: remark: [Analysis] AssumedSize | Category:commsched | Function=dynamic
// CHECK-SAME: Remark="live bytes, and what fits a memory budget, are without a value: the size of a tensor<?xi8> is not known; 'commsched.size_hints' may give it"
// IR-LABEL: func.func @dynamic(
// IR-NEXT: commsched.all_reduce
// IR-NEXT: "a"
// IR-NEXT: "b"
// IR-NEXT: commsched.wait
func.func @dynamic(%x: tensor<4xi8>) -> (tensor<?xi8>, tensor<4xi8>, tensor<4xi8>) {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<?xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %b = commsched.compute "b"(%x) : (tensor<4xi8>) -> tensor<4xi8>
  return %a, %b, %w : tensor<?xi8>, tensor<4xi8>, tensor<4xi8>
}
