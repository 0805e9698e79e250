// RUN: commsched-opt %s --test-commsched-expand-float8-casts | FileCheck %s

// What the arithmetic yields is compared with the formats in float8-casts.test.

// Wider numbers are rounded once, whatever they are.
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: %[[A:.*]]: bf16, %[[B:.*]]: f64)
// CHECK: %[[WIDE:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK: arith.bitcast %[[WIDE]] : f32 to i32
// CHECK: %[[BYTE:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK: %[[X:.*]] = arith.bitcast %[[BYTE]] : i8 to f8E5M2
// CHECK: arith.bitcast %[[B]] : f64 to i64
// CHECK: %[[BYTE:.*]] = arith.trunci %{{.*}} : i64 to i8
// CHECK: %[[Y:.*]] = arith.bitcast %[[BYTE]] : i8 to f8E4M3FN
// CHECK-NOT: arith.truncf
// CHECK: return %[[X]], %[[Y]]
func.func @narrow(%a: bf16, %b: f64) -> (f8E5M2, f8E4M3FN) {
  %x = arith.truncf %a : bf16 to f8E5M2
  %y = arith.truncf %b to_nearest_even : f64 to f8E4M3FN
  return %x, %y : f8E5M2, f8E4M3FN
}

// CHECK-LABEL: func.func @widen(
// CHECK-SAME: %[[A:.*]]: f8E5M2, %[[B:.*]]: f8E4M3FN)
// CHECK: arith.bitcast %[[A]] : f8E5M2 to i8
// CHECK: %[[X:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.bitcast %[[B]] : f8E4M3FN to i8
// CHECK: %[[Y:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK: return %[[X]], %[[Y]]
func.func @widen(%a: f8E5M2, %b: f8E4M3FN) -> (f16, f64) {
  %x = arith.extf %a : f8E5M2 to f16
  %y = arith.extf %b : f8E4M3FN to f64
  return %x, %y : f16, f64
}

// CHECK-LABEL: func.func @vectors(
// CHECK: arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK: arith.minui %{{.*}} : vector<4xi32>
// CHECK: %[[X:.*]] = arith.bitcast %{{.*}} : vector<4xi8> to vector<4xf8E5M2>
// CHECK: arith.bitcast %[[X]] : vector<4xf8E5M2> to vector<4xi8>
// CHECK: return %{{.*}} : vector<4xf32>
func.func @vectors(%a: vector<4xf32>) -> vector<4xf32> {
  %x = arith.truncf %a : vector<4xf32> to vector<4xf8E5M2>
  %y = arith.extf %x : vector<4xf8E5M2> to vector<4xf32>
  return %y : vector<4xf32>
}

// Others are not expanded.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: arith.truncf %{{.*}} upward : f32 to f8E5M2
// CHECK-NEXT: arith.truncf %{{.*}} : f80 to f8E5M2
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to f8E4M3
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT: arith.extf %{{.*}} : f8E4M3 to f32
// CHECK-NEXT: return
func.func @others(%a: f32, %b: f80, %c: f8E4M3)
    -> (f8E5M2, f8E5M2, f8E4M3, f16, f32) {
  %x = arith.truncf %a upward : f32 to f8E5M2
  %y = arith.truncf %b : f80 to f8E5M2
  %z = arith.truncf %a : f32 to f8E4M3
  %u = arith.truncf %a : f32 to f16
  %v = arith.extf %c : f8E4M3 to f32
  return %x, %y, %z, %u, %v : f8E5M2, f8E5M2, f8E4M3, f16, f32
}
