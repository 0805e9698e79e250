// DEFINE: %{merge} = commsched-test-opt %s --commsched-bucket-all-reduce=mode=

// RUN: %{merge}coalesced | FileCheck %s
// RUN: %{merge}copy | FileCheck %s --check-prefix=COPY

// Collectives of another dialect are merged by the key that they give: by
// default group, reduction and element type, but they may tell apart more.

!x = tensor<8xf32>
!half = tensor<8xf16>

// CHECK-LABEL: func.func @keys(
// CHECK: commsched_test.total {{.*}} over "ring" {{.*}}"a+e"
// CHECK: commsched_test.total {{.*}} over "tree" {{.*}}"b+f"
// CHECK: commsched_test.total {{.*}} over "ring" {{.*}}"c+g", {{.*}}wagon = "dining"
// CHECK: commsched_test.total {{.*}} over "ring" {{.*}}"d"{{.*}} tensor<8xf16>
// CHECK: commsched_test.total {{.*}} over "ring" {{.*}}"h", keyless
// CHECK-NOT: commsched_test.total
// CHECK: return
// COPY-LABEL: func.func @keys(
// COPY: tensor.concat {{.*}}"a+e.copy_in"
// COPY-NEXT: commsched_test.total {{.*}}"a+e"
// COPY: tensor.concat {{.*}}"b+f.copy_in"
// COPY-NEXT: commsched_test.total {{.*}}"b+f"
// COPY: tensor.concat {{.*}}"c+g.copy_in"
// COPY-NEXT: commsched_test.total {{.*}}"c+g", {{.*}}wagon = "dining"
// COPY: commsched_test.total {{.*}}"d"
// COPY: commsched_test.total {{.*}}"h"
// COPY-NOT: commsched_test.total
// COPY: return
func.func @keys(%x: !x, %y: !half) -> (!x, !x, !x, !half, !x, !x, !x, !x) {
  %a = commsched_test.total %x over "ring" ranks(4) {commsched.name = "a"} : !x
  %b = commsched_test.total %x over "tree" ranks(4) {commsched.name = "b"} : !x
  %c = commsched_test.total %x over "ring" ranks(4) {commsched.name = "c", wagon = "dining"} : !x
  %d = commsched_test.total %y over "ring" ranks(4) {commsched.name = "d"} : !half
  %e = commsched_test.total %x over "ring" ranks(4) {commsched.name = "e"} : !x
  %f = commsched_test.total %x over "tree" ranks(4) {commsched.name = "f"} : !x
  %g = commsched_test.total %x over "ring" ranks(4) {commsched.name = "g", wagon = "dining"} : !x
  %h = commsched_test.total %x over "ring" ranks(4) {commsched.name = "h", keyless} : !x
  %wa = commsched_test.finish %a : !x
  %wb = commsched_test.finish %b : !x
  %wc = commsched_test.finish %c : !x
  %wd = commsched_test.finish %d : !half
  %we = commsched_test.finish %e : !x
  %wf = commsched_test.finish %f : !x
  %wg = commsched_test.finish %g : !x
  %wh = commsched_test.finish %h : !x
  return %wa, %wb, %wc, %wd, %we, %wf, %wg, %wh : !x, !x, !x, !half, !x, !x, !x, !x
}
