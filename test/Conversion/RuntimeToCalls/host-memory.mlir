// RUN: commsched-opt %s --test-convert-requests-to-calls | FileCheck %s
// RUN: commsched-opt %s --test-convert-requests-to-calls | FileCheck %s --check-prefix=PROGRAM

// A transfer is a site without a group.
// PROGRAM: {\22kind\22:\22offload\22,{{[^}]*}}\22name\22:\22out\22,\22tensors\22:[{\22inputs\22:8,\22outputs\22:8,\22type\22:\22f32\22}]}
// PROGRAM-SAME: {\22kind\22:\22reload\22,{{[^}]*}}\22name\22:\22in\22,
// PROGRAM-NOT: commsched.host

// Memory of the host is the runtime's; behind the calls it is the processor's.
// CHECK-LABEL: func.func @there_and_back
// CHECK-SAME: (%[[X:.*]]: memref<2x4xf32>) -> memref<2x4xf32>
// CHECK: %[[P:.*]] = call @commsched_allocate_host(%c32_i64{{[_0-9]*}}, %c64_i64{{[_0-9]*}}) : (i64, i64) -> !llvm.ptr
// CHECK: llvm.insertvalue %[[P]], %{{.*}}[0]
// CHECK: llvm.insertvalue %[[P]], %{{.*}}[1]
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(2 : index)
// CHECK: llvm.insertvalue %[[SIZE]], %{{.*}}[3, 0]
// CHECK: %[[STRIDE:.*]] = llvm.mlir.constant(4 : index)
// CHECK: llvm.insertvalue %[[STRIDE]], %{{.*}}[4, 0]
// CHECK: %[[H:.*]] = builtin.unrealized_conversion_cast %{{.*}} : {{.*}} to memref<2x4xf32>
// CHECK: call @commsched_start(%c0_i32
// CHECK: call @commsched_wait
// CHECK: call @commsched_start(%c1_i32
// CHECK: call @commsched_wait
// CHECK: memref.dealloc %[[H]] : memref<2x4xf32>
func.func @there_and_back(%x: memref<2x4xf32>) -> memref<2x4xf32> {
  %h = memref.alloc() {alignment = 64 : i64} : memref<2x4xf32, #commsched.host>
  %r = commsched_rt.start "offload" "out" ins(%x : memref<2x4xf32>)
      outs(%h : memref<2x4xf32, #commsched.host>)
      {received = array<i64: 8>, sent = array<i64: 8>} : !commsched_rt.request
  commsched_rt.wait %r ins(%x : memref<2x4xf32>) outs(%h : memref<2x4xf32, #commsched.host>)
  %y = memref.alloc() : memref<2x4xf32>
  %s = commsched_rt.start "reload" "in"
      ins(%h : memref<2x4xf32, #commsched.host>) outs(%y : memref<2x4xf32>)
      {received = array<i64: 8>, sent = array<i64: 8>} : !commsched_rt.request
  commsched_rt.wait %s ins(%h : memref<2x4xf32, #commsched.host>) outs(%y : memref<2x4xf32>)
  memref.dealloc %h : memref<2x4xf32, #commsched.host>
  return %y : memref<2x4xf32>
}

// A scalar, a copy within the host, and branches.
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
