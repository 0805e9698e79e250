// RUN: commsched-opt %s --commsched-quantize-activations="size-in-mb=1000 \
// RUN:   quantize-dynamic-shape" %remarks 2>&1 | FileCheck %s

// Dynamic sizes are taken to be large enough, and travel with the tensors.

!t = tensor<?x8x?xbf16>

// CHECK: ActivationQuantized {{.*}}BytesAfter=0, BytesBefore=0, {{.*}}saved value 0 becomes f8E5M2
// CHECK-LABEL: func.func @f_forward(
// CHECK: %[[H:.*]] = commsched.compute
// CHECK: %[[BATCH:.*]] = tensor.dim %[[H]], %{{.*}} : tensor<?x8x?xbf16>
// CHECK: tensor.empty(%[[BATCH]]) : tensor<?x8xf32>
// CHECK: %[[BATCH:.*]] = tensor.dim %[[H]], %{{.*}} : tensor<?x8x?xbf16>
// CHECK: tensor.empty(%[[BATCH]]) : tensor<?x8x1xf32>
// CHECK: %[[SCALE:.*]] = linalg.generic
// CHECK: %[[BATCH:.*]] = tensor.dim %[[H]], %{{.*}} : tensor<?x8x?xbf16>
// CHECK: %[[LENGTH:.*]] = tensor.dim %[[H]], %{{.*}} : tensor<?x8x?xbf16>
// CHECK: tensor.empty(%[[BATCH]], %[[LENGTH]]) : tensor<?x8x?xf8E5M2>
// CHECK: %[[Q:.*]] = linalg.generic
// CHECK: return %[[Q]], %[[SCALE]] : tensor<?x8x?xf8E5M2>, tensor<?x8x1xf32>
func.func @f_forward(%x: !t {commsched.role = "input"}) -> !t {
  %h = commsched.compute "h"(%x) : (!t) -> !t
  return %h : !t
}

// CHECK-LABEL: func.func @f_backward(
// CHECK-SAME: %[[Q:.*]]: tensor<?x8x?xf8E5M2> {commsched.role = "saved_activation"}, %[[SCALE:.*]]: tensor<?x8x1xf32>
// CHECK: %[[BATCH:.*]] = tensor.dim %[[Q]]
// CHECK: %[[LENGTH:.*]] = tensor.dim %[[Q]]
// CHECK: tensor.empty(%[[BATCH]], %[[LENGTH]]) : tensor<?x8x?xbf16>
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[Q]], %[[SCALE]] :
// CHECK: return %[[H]]
func.func @f_backward(%h: !t {commsched.role = "saved_activation"}) -> !t {
  return %h : !t
}

func.func @f(%x0: !t {commsched.role = "input"}) -> !t {
  %f = call @f_forward(%x0) : (!t) -> !t
  %b = call @f_backward(%f) : (!t) -> !t
  return %b : !t
}
