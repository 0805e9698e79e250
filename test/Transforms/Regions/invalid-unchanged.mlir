// Where a mark is wrong, the module that others print after the failure is the
// one before.
// RUN: not commsched-opt %s --commsched-compile-regions \
// RUN:   --mlir-print-ir-after-failure --mlir-print-ir-module-scope \
// RUN:   --mlir-disable-threading 2>&1 | FileCheck %s

// CHECK: error: 'math.sin' op names the pipeline 'no-such-pass'
// CHECK: IR Dump After CompileRegions Failed
// CHECK: func.func @good
// CHECK-NEXT: math.exp {{.*}} {commsched.compile_with
// CHECK: func.func @bad
// CHECK-NEXT: math.sin {{.*}} {commsched.compile_with
// CHECK-NOT: __marked_region
func.func @good(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @bad(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.sin %x {commsched.compile_with = {pipeline = "no-such-pass", region = "b"}} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
