// RUN: commsched-opt %s --commsched-reorder-for-peak-memory %remarks -o %t 2>&1 | FileCheck %s
// RUN: %orders < %t | FileCheck %s --check-prefix=IR
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory=methods=dfs %remarks -o \
// RUN:   /dev/null 2>&1 | FileCheck %s --check-prefix=DFS

// A remark for every block: which method won, or why none did.

// CHECK: remark: [Passed] BlockReordered | Category:commsched | Function=moved
// CHECK-SAME: Method=lpmf, PeakBytesAfter=18, PeakBytesBefore=33
// CHECK-SAME: lpmf lowers the peak memory from 33 to 18 bytes (lpmf 18, bfs 33, dfs 33)
// DFS: remark: [Missed] BlockKept | Category:commsched | Function=moved
// DFS-SAME: PeakBytes=33,
// DFS-SAME: not reordered: no method lowers the peak memory of 33 bytes (dfs 33)
// IR-LABEL: func.func @moved(
// IR-NEXT: // order: a c b d{{$}}
func.func @moved() -> (tensor<1xi8>, tensor<1xi8>) {
  %a = commsched.compute "a"() : () -> tensor<16xi8>
  %b = commsched.compute "b"() : () -> tensor<16xi8>
  %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
  %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
  return %c, %d : tensor<1xi8>, tensor<1xi8>
}

// CHECK: remark: [Missed] BlockKept | Category:commsched | Function=empty
// CHECK-SAME: no method lowers the peak memory of 0 bytes
func.func @empty() {
  return
}

// CHECK-NOT: remark
func.func private @declared(tensor<4xi8>)
