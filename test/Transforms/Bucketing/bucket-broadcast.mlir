// RUN: %rows %s | commsched-opt --commsched-bucket="kinds=broadcast mode=copy" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,COPY
// RUN: %rows %s | commsched-opt --commsched-bucket="kinds=broadcast mode=coalesced" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,COALESCED

// Broadcasts from one root are merged.

commsched.group @g size(4)

// CHECK-LABEL: func.func @roots(
// COPY: commsched.broadcast %{{.+}} on @g root(0) {commsched.name = "a+c"{{.*}}} : tensor<12xf32>
// COALESCED: commsched.broadcast %{{.+}}, %{{.+}} on @g root(0) {commsched.name = "a+c"{{.*}}} : tensor<8xf32>, tensor<2x2xf32>
// CHECK: commsched.broadcast %{{.+}} on @g root(1) {commsched.name = "b"}
// CHECK-NOT: commsched.broadcast
func.func @roots(%x: tensor<8xf32>, %y: tensor<2x2xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>) {
  $run(%w3 = broadcast %x on @g root(0) {commsched.name = "a"} : tensor<8xf32> -> tensor<8xf32>)
  $run(%w4 = broadcast %x on @g root(1) {commsched.name = "b"} : tensor<8xf32> -> tensor<8xf32>)
  $run(%w5 = broadcast %y on @g root(0) {commsched.name = "c"} : tensor<2x2xf32> -> tensor<2x2xf32>)
  return %w3, %w4, %w5 : tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>
}
