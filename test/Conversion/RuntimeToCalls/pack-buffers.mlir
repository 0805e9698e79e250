// RUN: commsched-opt %s --test-commsched-pack-request-buffers | FileCheck %s

// Equivalence/split-regions.test compares results where launches have parts with gaps.

commsched.group @g size(2)

// A part without gaps stays, wherever it begins.
// CHECK-LABEL: func.func @packed
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @packed(%y: memref<8xf32>, %i: index) {
  %b = memref.subview %y[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
  %r = commsched_rt.start "all_reduce" "m" on @g
      outs(%b : memref<4xf32, strided<[1], offset: ?>>)
      {in_place, received = array<i64: 4>, sent = array<i64: 4>,
       reduction = 0 : i32} : !commsched_rt.request
  commsched_rt.wait %r outs(%b : memref<4xf32, strided<[1], offset: ?>>)
  return
}

// A copy that leaves gaps reads what is in them.
// CHECK-LABEL: func.func @copies
// CHECK: %[[B:.*]] = memref.subview
// CHECK: %[[P:.*]] = memref.alloc()
// CHECK: memref.copy %[[B]], %[[P]]
// CHECK: commsched_rt.copy {{.*}} outs(%[[P]]
// CHECK-NEXT: memref.copy %[[P]], %[[B]]
// CHECK: %[[Q:.*]] = memref.alloc()
// CHECK-NEXT: commsched_rt.copy {{.*}} outs(%[[Q]]
// CHECK-NEXT: memref.copy %[[Q]], %[[B]]
func.func @copies(%x: memref<4xf32>, %y: memref<8xf32>) {
  %b = memref.subview %y[0] [4] [2] : memref<8xf32> to memref<4xf32, strided<[2]>>
  commsched_rt.copy ins(%x : memref<4xf32>) outs(%b : memref<4xf32, strided<[2]>>)
      {repeat = 1 : i64, rows = 1 : i64, row_elements = 8 : i64,
       source = array<i64: 0, 0, 0>, target = array<i64: 0, 0, 0>}
  commsched_rt.copy ins(%x : memref<4xf32>) outs(%b : memref<4xf32, strided<[2]>>)
      {overwrites, repeat = 1 : i64, rows = 1 : i64, row_elements = 16 : i64,
       source = array<i64: 0, 0, 0>, target = array<i64: 0, 0, 0>}
  return
}
