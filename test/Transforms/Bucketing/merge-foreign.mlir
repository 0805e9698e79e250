// RUN: commsched-test-opt %s --commsched-bucket=mode=copy -verify-diagnostics=only-expected %remarks | FileCheck %s --check-prefix=COPY
// RUN: commsched-test-opt %s --commsched-bucket=mode=coalesced | FileCheck %s

// Collectives of another dialect that are not merged: whatever has no interface to
// merge it, or a value that does not fit.
// COPY-LABEL: func.func @alone(
func.func @alone(%a: tensor<4xf32>) {
  // expected-remark@below {{'commsched_test.total' does not say how it is merged}}
  %0 = commsched_test.total %a over "ring" ranks(4) {unmergeable} : tensor<4xf32>
  // expected-remark@below {{it has no bucket key}}
  %1 = commsched_test.total %a over "ring" ranks(4) {keyless} : tensor<4xf32>
  // expected-remark@below {{it transfers nothing}}
  %2 = "commsched_test.total"() <{channel = "ring", ranks = 4 : i64}> : () -> !commsched_test.handle
  // expected-remark@below {{it delivers several values}}
  %3 = commsched_test.total %a over "ring" ranks(4) : tensor<4xf32>
  // expected-remark@below {{'commsched_test.exchange' does not say how it is merged}}
  %4 = commsched_test.exchange %a over "ring" ranks(4) : tensor<4xf32>
  %5 = commsched_test.finish %0 : tensor<4xf32>
  %6 = commsched_test.finish %1 : tensor<4xf32>
  "commsched_test.finish"(%2) : (!commsched_test.handle) -> ()
  %7:2 = commsched_test.finish %3 : tensor<4xf32>, tensor<4xf32>
  %8 = commsched_test.finish %4 : tensor<4xf32>
  return
}

// Only all-reduces of tensors can be copied: the copies around the others name a
// group.
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
