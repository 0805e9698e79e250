// RUN: commsched-opt %s --commsched-bucket="kinds=broadcast mode=copy" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,COPY
// RUN: commsched-opt %s --commsched-bucket="kinds=broadcast mode=coalesced" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,COALESCED

// Broadcasts from one root are merged.

commsched.group @g size(4)

// CHECK-LABEL: func.func @roots(
// COPY: commsched.broadcast %{{.+}} on @g root(0) {commsched.name = "a+c"{{.*}}} : tensor<12xf32>
// COALESCED: commsched.broadcast %{{.+}}, %{{.+}} on @g root(0) {commsched.name = "a+c"{{.*}}} : tensor<8xf32>, tensor<2x2xf32>
// CHECK: commsched.broadcast %{{.+}} on @g root(1) {commsched.name = "b"}
// CHECK-NOT: commsched.broadcast
func.func @roots(%x: tensor<8xf32>, %y: tensor<2x2xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>) {
  %0 = commsched.broadcast %x on @g root(0) {commsched.name = "a"} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %1 = commsched.broadcast %x on @g root(1) {commsched.name = "b"} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %2 = commsched.broadcast %y on @g root(0) {commsched.name = "c"} : tensor<2x2xf32> -> !commsched.future<tensor<2x2xf32>>
  %3 = commsched.wait %0 : !commsched.future<tensor<8xf32>>
  %4 = commsched.wait %1 : !commsched.future<tensor<8xf32>>
  %5 = commsched.wait %2 : !commsched.future<tensor<2x2xf32>>
  return %3, %4, %5 : tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>
}
