// RUN: commsched-opt %s --test-convert-requests-to-calls | FileCheck %s
// RUN: commsched-opt %s --test-convert-requests-to-calls | FileCheck %s --check-prefix=PROGRAM

commsched.group @rows size(2)
commsched.group @odd size(2) ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)

// PROGRAM: llvm.mlir.global external constant @commsched_program("
// PROGRAM-SAME: {\22groups\22:[{\22name\22:\22rows\22,\22size\22:2,\22stride\22:1},{\22name\22:\22odd\22,\22ranks\22:{{\[\[}}0,3],[1,2]],\22size\22:2}],
// PROGRAM-SAME: \22host_code\22:\22linalg.fill at {{[^"]*}}calls.mlir:[[#@LINE+50]]:3\22,
// PROGRAM-SAME: \22operators\22:[{\22inputs\22:[{\22elements\22:8,\22type\22:\22f32\22},{\22elements\22:2,\22type\22:\22i1\22}],\22location\22:\22{{.*}}\22,\22name\22:\22mm\22,\22outputs\22:[{\22elements\22:4,\22type\22:\22bytes<1>\22},{\22elements\22:4,\22type\22:\22bytes<2>\22}]}],
// PROGRAM-SAME: {\22group\22:1,\22input_splits\22:{{\[\[}}3,5]],\22kind\22:\22all_to_all\22,{{[^}]*}}\22output_splits\22:{{\[\[}}4,4]],
// PROGRAM-SAME: {\22group\22:1,\22kind\22:\22permute\22,{{[^}]*}}\22pairs\22:{{\[\[}}0,1],[1,0]],
// PROGRAM-SAME: {\22group\22:0,\22kind\22:\22send\22,{{[^}]*}}\22peer\22:1,\22tag\22:7,
// PROGRAM-SAME: {\22group\22:0,\22kind\22:\22all_reduce\22,{{[^}]*}}\22reduction\22:\22max\22,
// PROGRAM-SAME: {\22group\22:0,\22kind\22:\22barrier\22,{{[^}]*}}\22tensors\22:[]}
// PROGRAM-SAME: \22version\22:1}\00")
// PROGRAM-NOT: commsched.group

// CHECK-LABEL: func.func @others
func.func @others(%x: memref<8xi8>, %y: memref<8xi8>, %z: memref<4xf8E8M0FNU>,
                  %w: memref<8xf32>, %u: memref<2xui1>, %v: memref<4xcomplex<i8>>) {
  %a = commsched_rt.start "all_to_all" "a2a" on @odd ins(%x : memref<8xi8>)
      outs(%y : memref<8xi8>)
      {received = array<i64: 8>, sent = array<i64: 8>,
       input_splits = [array<i64: 3, 5>], output_splits = [array<i64: 4, 4>]}
      : !commsched_rt.request
  commsched_rt.wait %a ins(%x : memref<8xi8>) outs(%y : memref<8xi8>)
  %p = commsched_rt.start "permute" "p" on @odd ins(%x : memref<8xi8>)
      outs(%y : memref<8xi8>)
      {received = array<i64: 8>, sent = array<i64: 8>,
       pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}
      : !commsched_rt.request
  commsched_rt.wait %p ins(%x : memref<8xi8>) outs(%y : memref<8xi8>)
  // Nothing is received: a null pointer.
  // CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
  // CHECK: llvm.store %[[NULL]],
  %s = commsched_rt.start "send" "s" on @rows ins(%x : memref<8xi8>)
      {received = array<i64: 0>, sent = array<i64: 8>, peer = 1 : i64,
       tag = 7 : i64} : !commsched_rt.request
  commsched_rt.wait %s ins(%x : memref<8xi8>)
  // In place, both pointers are the buffer's.
  // CHECK: %[[W:.*]] = llvm.extractvalue %{{.*}}[1]
  // CHECK: llvm.store %[[W]],
  // CHECK: llvm.store %[[W]],
  %m = commsched_rt.start "all_reduce" "m" on @rows outs(%w : memref<8xf32>)
      {in_place, received = array<i64: 8>, sent = array<i64: 8>,
       reduction = 4 : i32} : !commsched_rt.request
  commsched_rt.wait %m outs(%w : memref<8xf32>)
  // CHECK: call @commsched_barrier(%c4_i32
  commsched_rt.barrier "b" on @rows
  // CHECK: call @commsched_compute(%c0_i32{{.*}}, %c500_i64
  commsched_rt.compute "mm" 500 ins(%w, %u : memref<8xf32>, memref<2xui1>)
      outs(%z, %v : memref<4xf8E8M0FNU>, memref<4xcomplex<i8>>)
  return
}

// CHECK-LABEL: func.func @processor
func.func @processor(%x: memref<8xf32>, %y: memref<8xf32>, %c: f32) {
  linalg.fill ins(%c : f32) outs(%y : memref<8xf32>)
  // CHECK: linalg.fill
  // CHECK-NOT: commsched_poll
  // CHECK: call @commsched_start
  // CHECK: linalg.fill
  // CHECK-NEXT: call @commsched_poll()
  // CHECK: call @commsched_wait
  // CHECK-NEXT: linalg.fill
  // CHECK-NOT: commsched_poll
  // CHECK: return
  %m = commsched_rt.start "all_reduce" "m2" on @rows outs(%x : memref<8xf32>)
      {in_place, received = array<i64: 8>, sent = array<i64: 8>,
       reduction = 0 : i32} : !commsched_rt.request
  linalg.fill ins(%c : f32) outs(%y : memref<8xf32>)
  commsched_rt.wait %m outs(%x : memref<8xf32>)
  linalg.fill ins(%c : f32) outs(%y : memref<8xf32>)
  return
}

// Views are copied in rows, and loops around them: no code of the program
// touches the buffers.
// CHECK-LABEL: func.func @strided_copies
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK: call @commsched_copy(%{{.*}}, %c-1_i32{{[_0-9]*}}, %c8_i64{{[_0-9]*}}, %{{.*}}, %c-1_i32{{[_0-9]*}}, %c8_i64{{[_0-9]*}}, %c4_i64{{[_0-9]*}}, %c4_i64
// CHECK: scf.for %{{.*}} = %c0_i64{{[_0-9]*}} to %c5_i64
// CHECK: call @commsched_copy(%{{.*}}, %c-1_i32{{[_0-9]*}}, %c32_i64{{[_0-9]*}}, %{{.*}}, %c-1_i32{{[_0-9]*}}, %c8_i64{{[_0-9]*}}, %c3_i64{{[_0-9]*}}, %c8_i64
// CHECK: }
// CHECK: %[[ROWS:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %[[BYTES:.*]] = arith.muli %c32_i64{{.*}}, %[[ROWS]]
// CHECK: call @commsched_copy({{.*}}, %c1_i64{{[_0-9]*}}, %[[BYTES]])
func.func @strided_copies(%n: index, %x: memref<8xf32>, %y: memref<8xf32>,
                          %u: memref<5x3x8xf32>, %v: memref<5x3x2xf32>,
                          %d: memref<?x8xf32>, %e: memref<?x8xf32>) {
  %a = memref.subview %x[0] [4] [2] : memref<8xf32> to memref<4xf32, strided<[2]>>
  %b = memref.subview %y[0] [4] [2] : memref<8xf32> to memref<4xf32, strided<[2]>>
  memref.copy %a, %b : memref<4xf32, strided<[2]>> to memref<4xf32, strided<[2]>>
  %c = memref.subview %u[0, 0, %n] [5, 3, 2] [1, 1, 1]
      : memref<5x3x8xf32> to memref<5x3x2xf32, strided<[24, 8, 1], offset: ?>>
  linalg.copy ins(%v : memref<5x3x2xf32>)
      outs(%c : memref<5x3x2xf32, strided<[24, 8, 1], offset: ?>>)
  memref.copy %d, %e : memref<?x8xf32> to memref<?x8xf32>
  return
}
