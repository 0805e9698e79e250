// RUN: commsched-test-opt %s --test-merge-collectives=mode=copy -verify-diagnostics | FileCheck %s --check-prefix=COPY
// RUN: commsched-test-opt %s --test-merge-collectives=mode=coalesced | FileCheck %s

// Of another dialect's collectives only all-reduces of tensors can be copied:
// the copies around the others name a group.

// COPY-LABEL: func.func @refused(
// COPY-COUNT-5: commsched_test.total
// COPY: return
// CHECK-LABEL: func.func @refused(
// CHECK-NEXT: commsched_test.total {{.*}} : tensor<4xf32>, tensor<8xf32>
// CHECK-NEXT: commsched_test.total
// CHECK-NEXT: commsched_test.total {{.*}} : tensor<4xf32>
// CHECK-NEXT: commsched_test.total {{.*}} : memref<4xf32>
func.func @refused(%a: tensor<4xf32>, %b: tensor<8xf32>, %m: memref<4xf32>) {
  // expected-remark@below {{there is no copy-in for 'commsched_test.total'}}
  %0 = commsched_test.total %a over "ring" ranks(4) {kind = "all_gather"} : tensor<4xf32>
  // expected-remark@below {{there is no copy-in for 'commsched_test.total'}}
  %1 = commsched_test.total %b over "ring" ranks(4) {kind = "all_gather"} : tensor<8xf32>
  // expected-remark@below {{there is no copy-in for 'commsched_test.total'}}
  %2 = commsched_test.total %a over "ring" ranks(4) {kind = "reduce_scatter"} : tensor<4xf32>
  // expected-remark@below {{it delivers another type than it sends}}
  %3 = commsched_test.total %a over "ring" ranks(4) {delivers = tensor<4xf64>} : tensor<4xf32>
  // expected-remark@below {{it transfers what is no tensor}}
  %4 = commsched_test.total %m over "ring" ranks(4) : memref<4xf32>
  %5 = commsched_test.finish %0 : tensor<4xf32>
  %6 = commsched_test.finish %1 : tensor<8xf32>
  %7 = commsched_test.finish %2 : tensor<4xf32>
  %8 = commsched_test.finish %3 : tensor<4xf64>
  %9 = commsched_test.finish %4 : memref<4xf32>
  return
}
