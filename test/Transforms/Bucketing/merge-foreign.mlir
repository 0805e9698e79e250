// RUN: commsched-test-opt %s --test-merge-collectives=mode=coalesced -verify-diagnostics | FileCheck %s
// RUN: commsched-test-opt %s --test-merge-collectives=mode=copy -verify-diagnostics | FileCheck %s --check-prefix=COPY

// Collectives of another dialect are merged through their interface.

// CHECK-LABEL: func.func @totals(
// CHECK-SAME: %[[A:.+]]: tensor<2x2xf32>, %[[B:.+]]: tensor<4xf32>)
// CHECK-NEXT: %[[H:.+]] = commsched_test.total %[[A]], %[[B]] over "ring" ranks(4) {commsched.name = "a+b"{{.*}}} : tensor<2x2xf32>, tensor<4xf32>
// CHECK-NEXT: %[[W:.+]]:2 = commsched_test.finish %[[H]] : tensor<2x2xf32>, tensor<4xf32>
// CHECK-NEXT: return %[[W]]#0, %[[W]]#1
// COPY-LABEL: func.func @totals(
// COPY-SAME: %[[A:.+]]: tensor<2x2xf32>, %[[B:.+]]: tensor<4xf32>)
// COPY-NEXT: %[[FLAT:.+]] = tensor.collapse_shape %[[A]]
// COPY-NEXT: %[[IN:.+]] = tensor.concat dim(0) %[[FLAT]], %[[B]] {commsched.name = "a+b.copy_in"{{.*}}}
// COPY-NEXT: %[[H:.+]] = commsched_test.total %[[IN]] over "ring" ranks(4) {commsched.name = "a+b"{{.*}}} : tensor<8xf32>
// COPY-NEXT: %[[W:.+]] = commsched_test.finish %[[H]] : tensor<8xf32>
// COPY-NEXT: %[[SLICE:.+]] = tensor.extract_slice %[[W]][0] [4] [1]
// COPY-NEXT: tensor.expand_shape %[[SLICE]]
// COPY-NEXT: tensor.extract_slice %[[W]][4] [4] [1]
// COPY-NEXT: return
func.func @totals(%a: tensor<2x2xf32>, %b: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32>) {
  %0 = commsched_test.total %a over "ring" ranks(4) {commsched.name = "a"} : tensor<2x2xf32>
  %1 = commsched_test.total %b over "ring" ranks(4) {commsched.name = "b"} : tensor<4xf32>
  %2 = commsched_test.finish %0 : tensor<2x2xf32>
  %3 = commsched_test.finish %1 : tensor<4xf32>
  return %2, %3 : tensor<2x2xf32>, tensor<4xf32>
}

// Whatever has no interface to merge it, or a value that does not fit.
// CHECK-LABEL: func.func @refused(
// COPY-LABEL: func.func @refused(
func.func @refused(%a: tensor<4xf32>) {
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
