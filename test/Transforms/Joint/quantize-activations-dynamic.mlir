// RUN: commsched-opt %s --commsched-quantize-activations="size-in-mb=1000 \
// RUN:   quantize-dynamic-shape" | FileCheck %s

// Dynamic sizes are taken to be large enough, and travel with the tensors.

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
func.func @f_forward(%x: tensor<?x8x?xbf16> {commsched.role = "input"})
    -> tensor<?x8x?xbf16> {
  %h = commsched.compute "h"(%x) : (tensor<?x8x?xbf16>) -> tensor<?x8x?xbf16>
  return %h : tensor<?x8x?xbf16>
}

// CHECK-LABEL: func.func @f_backward(
// CHECK-SAME: %[[Q:.*]]: tensor<?x8x?xf8E5M2> {commsched.role = "saved_activation"}, %[[SCALE:.*]]: tensor<?x8x1xf32>
// CHECK: %[[BATCH:.*]] = tensor.dim %[[Q]]
// CHECK: %[[LENGTH:.*]] = tensor.dim %[[Q]]
// CHECK: tensor.empty(%[[BATCH]], %[[LENGTH]]) : tensor<?x8x?xbf16>
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[Q]], %[[SCALE]] :
// CHECK: return %[[H]]
func.func @f_backward(
    %h: tensor<?x8x?xbf16> {commsched.role = "saved_activation"})
    -> tensor<?x8x?xbf16> {
  return %h : tensor<?x8x?xbf16>
}

func.func @f(%x0: tensor<?x8x?xbf16> {commsched.role = "input"})
    -> tensor<?x8x?xbf16> {
  %f = call @f_forward(%x0) : (tensor<?x8x?xbf16>) -> tensor<?x8x?xbf16>
  %b = call @f_backward(%f)
      : (tensor<?x8x?xbf16>) -> tensor<?x8x?xbf16>
  return %b : tensor<?x8x?xbf16>
}
