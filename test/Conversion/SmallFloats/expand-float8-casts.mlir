// RUN: commsched-opt %s --test-commsched-expand-float8-casts | FileCheck %s

// What the arithmetic yields is compared with the formats in float8-casts.test.

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
func.func @others(%a: f32, %b: f80, %c: f8E4M3) -> (f8E5M2, f8E5M2, f8E4M3, f16, f32) {
  %x = arith.truncf %a upward : f32 to f8E5M2
  %y = arith.truncf %b : f80 to f8E5M2
  %z = arith.truncf %a : f32 to f8E4M3
  %u = arith.truncf %a : f32 to f16
  %v = arith.extf %c : f8E4M3 to f32
  return %x, %y, %z, %u, %v : f8E5M2, f8E5M2, f8E4M3, f16, f32
}
