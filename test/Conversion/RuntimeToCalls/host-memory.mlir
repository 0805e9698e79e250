// RUN: commsched-opt %s --test-convert-requests-to-calls | FileCheck %s

// Memory of the host is the runtime's: a scalar, a copy within the host, and
// branches. Runtime/transfers.mlir runs transfers.
// CHECK-LABEL: func.func @others{{.*}}(%{{.*}}: memref<f32>, %{{.*}}: i1) -> memref<f32>
// CHECK: call @commsched_allocate_host
// CHECK: call @commsched_copy
// CHECK: scf.if {{.*}} -> (memref<f32>)
func.func @others(%h: memref<f32, #commsched.host>, %c: i1) -> memref<f32, #commsched.host> {
  %g = memref.alloc() : memref<f32, #commsched.host>
  memref.copy %h, %g : memref<f32, #commsched.host> to memref<f32, #commsched.host>
  %r = scf.if %c -> (memref<f32, #commsched.host>) {
    scf.yield %h : memref<f32, #commsched.host>
  } else {
    scf.yield %g : memref<f32, #commsched.host>
  }
  return %r : memref<f32, #commsched.host>
}
