// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-quantize-activations=size-in-mb=0 -o %t
// RUN: FileCheck %s --check-prefixes=CHECK,SCALED < %t
// RUN: commsched-opt %t --test-commsched-verify-partition \
// RUN:   --commsched-quantize-activations=size-in-mb=0 | diff %t -

// RUN: commsched-opt %t.mlir --commsched-quantize-activations="size-in-mb=0 \
// RUN:   use-scaling=false quant-type=f8E4M3FN" -o %t.unscaled
// RUN: FileCheck %s --check-prefixes=CHECK,UNSCALED < %t.unscaled
// RUN: commsched-opt %t.unscaled --test-commsched-verify-partition \
// RUN:   --commsched-quantize-activations="size-in-mb=0 use-scaling=false" | diff %t.unscaled -

// What a saved activation becomes on both sides; a second run changes nothing.
// quantize-activations-run.test compares what comes of it.

// Other uses stay as they are. Scales come behind tensors, before numbers.
// CHECK-LABEL: func.func @f_forward(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x16xbf16>
// SCALED-SAME: -> (tensor<2x4x16xbf16>, tensor<2x4x16xf8E5M2> {commsched.name = "h"}, tensor<3xi32>, tensor<2x4x1xf32> {commsched.name = "h.scale"}, index)
// UNSCALED-SAME: -> (tensor<2x4x16xbf16>, tensor<2x4x16xf8E4M3FN> {commsched.name = "h"}, tensor<3xi32>, index)
// CHECK: %[[H:.*]] = arith.addf %[[X]], %[[X]]
// CHECK: %[[Y:.*]] = arith.mulf %[[H]], %[[H]]

// SCALED: %[[SCALE:.*]] = linalg.generic {{.*}}commsched.name = "h.scale"
// SCALED: %[[Q:.*]] = linalg.generic {{.*}}ins(%[[H]], %[[SCALE]] :{{.*}}commsched.name = "h.quantize"

// UNSCALED-NEXT: %[[Q:.*]] = arith.truncf %[[H]] {commsched.name = "h.quantize"} : tensor<2x4x16xbf16> to tensor<2x4x16xf8E4M3FN>

!t = tensor<2x4x16xbf16>

// CHECK: %[[Z:.*]] = arith.mulf %[[Y]], %[[Y]]
// SCALED: return %[[Z]], %[[Q]], %{{.*}}, %[[SCALE]], %{{.*}} :
// UNSCALED: return %[[Z]], %[[Q]], %{{.*}}, %{{.*}} :
func.func @f_forward(%x: !t $in) -> (!t, !t {commsched.name = "h"}, tensor<3xi32>, index) {
  %shape = arith.constant dense<1> : tensor<3xi32>
  %size = arith.constant 3 : index
  %h = arith.addf %x, %x : !t
  %y = arith.mulf %h, %h : !t
  %z = arith.mulf %y, %y : !t
  return %z, %h, %shape, %size : !t, !t, tensor<3xi32>, index
}

// Once, right before the first of all users, also if that is in a region.
// CHECK-LABEL: func.func @f_backward(
// SCALED-SAME: %[[Q:.*]]: tensor<2x4x16xf8E5M2> {commsched.name = "h", commsched.role = "saved_activation"}
// UNSCALED-SAME: %[[Q:.*]]: tensor<2x4x16xf8E4M3FN> {commsched.name = "h", commsched.role = "saved_activation"}
// CHECK-SAME: %{{.*}}: tensor<3xi32>
// SCALED-SAME: %[[SCALE:.*]]: tensor<2x4x1xf32> {commsched.name = "h.scale", commsched.role = "saved_activation"}
// CHECK-SAME: %{{.*}}: index {commsched.role = "saved_activation"}
// CHECK-SAME: %[[T:.*]]: tensor<2x4x16xbf16> {commsched.role = "tangent"}
// CHECK: %[[A:.*]] = arith.mulf %[[T]], %[[T]]
// SCALED: %[[H:.*]] = linalg.generic {{.*}}ins(%[[Q]], %[[SCALE]] :{{.*}}commsched.name = "h.dequantize"
// UNSCALED-NEXT: %[[H:.*]] = arith.extf %[[Q]] {commsched.name = "h.dequantize"} : tensor<2x4x16xf8E4M3FN> to tensor<2x4x16xbf16>
// CHECK: %[[B:.*]] = scf.if
// CHECK-NEXT: arith.mulf %[[A]], %[[H]]
// CHECK: arith.mulf %[[B]], %[[H]]
// CHECK-NEXT: return
func.func @f_backward(%h: !t {commsched.name = "h", commsched.role = "saved_activation"},
    %shape: tensor<3xi32> $saved, %size: index $saved, %t: !t $tangent) -> !t {
  %zero = arith.constant 0 : index
  %c = arith.cmpi eq, %size, %zero : index
  %a = arith.mulf %t, %t : !t
  %b = scf.if %c -> !t {
    %product = arith.mulf %a, %h : !t
    scf.yield %product : !t
  } else {
    scf.yield %a : !t
  }
  %d = arith.mulf %b, %h : !t
  return %d : !t
}

func.func @f(%x0: !t $in, %x1: !t $tangent) -> (!t, !t) {
  %f:4 = call @f_forward(%x0) : (!t) -> (!t, !t, tensor<3xi32>, index)
  %b = call @f_backward(%f#1, %f#2, %f#3, %x1) : (!t, tensor<3xi32>, index, !t) -> !t
  return %f#0, %b : !t, !t
}
