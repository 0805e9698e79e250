// A plugin that does not load is only reported, so the tests look at the
// output, never at the exit code.
//
// A host without sanitizers cannot load a plugin with them.
// UNSUPPORTED: sanitizers

// RUN: %rows %s > %t.mlir
// RUN: mlir-opt --load-dialect-plugin=%plugin %t.mlir | FileCheck %s
// RUN: mlir-opt --load-dialect-plugin=%plugin --emit-bytecode %t.mlir \
// RUN:   | mlir-opt --load-dialect-plugin=%plugin | FileCheck %s
// RUN: mlir-opt --load-dialect-plugin=%plugin --canonicalize %t.mlir \
// RUN:   | FileCheck %s --check-prefix=CANONICALIZE
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin %t.mlir \
// RUN:   --pass-pipeline='builtin.module(func.func(commsched-raise-comms))' \
// RUN:   | FileCheck %s --check-prefix=RAISE
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin %t.mlir \
// RUN:   --pass-pipeline='builtin.module(func.func(commsched-estimate-runtime))' \
// RUN:   | FileCheck %s --check-prefix=ESTIMATE

// Dialects by name come with the plugin.
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   %S/../OperationTables/in-place.mlir \
// RUN:   --pass-pipeline='builtin.module(func.func(commsched-raise-comms))' \
// RUN:   | FileCheck %S/../OperationTables/in-place.mlir --check-prefix=RAISE

commsched.group @self size(1)
commsched.group @dp size(4)

// CHECK-LABEL: func.func @step(
// CHECK: commsched.compute "aten.sin"
// CHECK: commsched.all_gather

// The start needs nothing of what comes before it.
// RAISE-LABEL: func.func @step(
// RAISE-NEXT: commsched.all_gather
// RAISE-NEXT: commsched.compute "aten.sin"
func.func @step(%x: tensor<256xf32>, %shard: tensor<64xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %y = commsched.compute "aten.sin"(%x) : (tensor<256xf32>) -> tensor<256xf32>
  $run(%full = all_gather %shard on @dp dim(0) : tensor<64xf32> -> tensor<256xf32>)
  return %y, %full : tensor<256xf32>, tensor<256xf32>
}

// CANONICALIZE-LABEL: func.func @alone(
// CANONICALIZE-NEXT: return
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  $run(%v0 = all_reduce %x on @self reduction(sum) : tensor<4xf32> -> tensor<4xf32>)
  return %v0 : tensor<4xf32>
}

// The models of other dialects' operations come with the plugin: a matrix
// product is priced by its 2 * 1024^3 operations, more than 30 microseconds in
// double precision; its bytes alone would take 12.
// ESTIMATE-LABEL: func.func @matmul(
// ESTIMATE: linalg.matmul {commsched.runtime_ns = {{[3-9][0-9][0-9][0-9][0-9]}} : i64}
func.func @matmul(%a: tensor<1024x1024xf64>, %b: tensor<1024x1024xf64>,
                  %c: tensor<1024x1024xf64>) -> tensor<1024x1024xf64> {
  %v0 = linalg.matmul
      ins(%a, %b : tensor<1024x1024xf64>, tensor<1024x1024xf64>)
      outs(%c : tensor<1024x1024xf64>) -> tensor<1024x1024xf64>
  return %v0 : tensor<1024x1024xf64>
}
