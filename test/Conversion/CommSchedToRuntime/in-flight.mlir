// RUN: commsched-opt %s --test-convert-commsched-to-requests \
// RUN:   --one-shot-bufferize="allow-return-allocs-from-loops bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   --buffer-deallocation-pipeline --optimize-allocation-liveness | FileCheck %s

// What may not happen to memory while a collective is in flight.

commsched.group @g size(4)
func.func private @fill() -> tensor<8xf32>

// What is sent is not overwritten in place before the wait.
// CHECK-LABEL: func.func @write_operand
// CHECK: %[[X:.*]] = call @fill()
// CHECK: %[[REQUEST:.*]] = commsched_rt.start "all_reduce" {{.*}} ins(%[[X]]
// CHECK: %[[NEW:.*]] = memref.alloc()
// CHECK: linalg.add ins(%[[X]], %[[X]] {{.*}} outs(%[[NEW]]
// CHECK: commsched_rt.wait %[[REQUEST]] ins(%[[X]]
func.func @write_operand() -> (tensor<8xf32>, tensor<8xf32>) {
  %x = call @fill() : () -> tensor<8xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %y = linalg.add ins(%x, %x : tensor<8xf32>, tensor<8xf32>)
      outs(%x : tensor<8xf32>) -> tensor<8xf32>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  return %y, %r : tensor<8xf32>, tensor<8xf32>
}

// After the wait it may be.
// CHECK-LABEL: func.func @write_after_wait
// CHECK: %[[X:.*]] = call @fill()
// CHECK: commsched_rt.wait
// CHECK: linalg.add ins(%[[X]], %[[X]] {{.*}} outs(%[[X]]
func.func @write_after_wait() -> (tensor<8xf32>, tensor<8xf32>) {
  %x = call @fill() : () -> tensor<8xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  %y = linalg.add ins(%x, %x : tensor<8xf32>, tensor<8xf32>)
      outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %y, %r : tensor<8xf32>, tensor<8xf32>
}

// A destination whose old content is still needed is not written.
// CHECK-LABEL: func.func @read_destination
// CHECK: %[[X:.*]] = call @fill()
// CHECK: %[[OLD:.*]] = call @fill()
// CHECK: %[[NEW:.*]] = memref.alloc()
// CHECK-NOT: memref.copy
// CHECK: commsched_rt.start {{.*}} ins(%[[X]] {{.*}} outs(%[[NEW]]
// CHECK: linalg.add ins(%[[OLD]]
// CHECK: commsched_rt.wait {{.*}} outs(%[[NEW]]
func.func @read_destination() -> (tensor<8xf32>, tensor<8xf32>) {
  %x = call @fill() : () -> tensor<8xf32>
  %old = call @fill() : () -> tensor<8xf32>
  %f = commsched.all_reduce %x on @g reduction(sum) into %old
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.add ins(%old, %x : tensor<8xf32>, tensor<8xf32>)
      outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  return %y, %r : tensor<8xf32>, tensor<8xf32>
}

// Otherwise it is.
// CHECK-LABEL: func.func @write_destination
// CHECK: %[[X:.*]] = call @fill()
// CHECK: %[[OLD:.*]] = call @fill()
// CHECK-NOT: memref.alloc
// CHECK: commsched_rt.start {{.*}} ins(%[[X]] {{.*}} outs(%[[OLD]]
// CHECK: commsched_rt.wait {{.*}} outs(%[[OLD]]
// CHECK: return %[[OLD]]
func.func @write_destination() -> tensor<8xf32> {
  %x = call @fill() : () -> tensor<8xf32>
  %old = call @fill() : () -> tensor<8xf32>
  %f = commsched.all_reduce %x on @g reduction(sum) into %old
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  return %r : tensor<8xf32>
}

// One empty tensor is two buffers.
// CHECK-LABEL: func.func @shared_destination
// CHECK-DAG: %[[A:.*]] = memref.alloc()
// CHECK-DAG: %[[B:.*]] = memref.alloc()
// CHECK: commsched_rt.start {{.*}} outs(%[[FIRST:.*]] : memref
// CHECK-NOT: commsched_rt.start {{.*}} outs(%[[FIRST]] :
// CHECK: commsched_rt.start {{.*}} outs(%{{.*}} : memref
func.func @shared_destination(%x: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %f = commsched.all_reduce %x on @g reduction(sum) into %e
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %h = commsched.all_reduce %x on @g reduction(max) into %e
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  %s = commsched.wait %h : !commsched.future<tensor<8xf32>>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}

// What is sent is freed after the wait, although the start is the last to name
// it.
// CHECK-LABEL: func.func @free_operand
// CHECK: %[[X:.*]] = memref.alloc()
// CHECK: commsched_rt.start {{.*}} ins(%[[X]]
// CHECK-NOT: memref.dealloc %[[X]] :
// CHECK: commsched_rt.wait {{.*}} ins(%[[X]]
// CHECK: memref.dealloc %[[X]]
func.func @free_operand(%a: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %x = linalg.add ins(%a, %a : tensor<8xf32>, tensor<8xf32>)
      outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %y = commsched.compute "other"(%a) {commsched.runtime_ns = 10 : i64}
      : (tensor<8xf32>) -> tensor<8xf32>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  return %r : tensor<8xf32>
}

// In place is in place: nothing is allocated, nothing copied.
// CHECK-LABEL: func.func @all_reduce_in_place
// CHECK: %[[X:.*]] = call @fill()
// CHECK-NEXT: %[[REQUEST:.*]] = commsched_rt.start {{.*}} on @g outs(%[[X]] {{.*}}in_place
// CHECK-NEXT: commsched_rt.wait %[[REQUEST]] outs(%[[X]]
// CHECK-NEXT: return %[[X]]
func.func @all_reduce_in_place() -> tensor<8xf32> {
  %x = call @fill() : () -> tensor<8xf32>
  %f = commsched.all_reduce %x on @g reduction(sum) into %x
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  return %r : tensor<8xf32>
}

// ... unless the old contents are needed: then the operand is copied first.
// CHECK-LABEL: func.func @all_reduce_of_needed
// CHECK: %[[X:.*]] = call @fill()
// CHECK: %[[NEW:.*]] = memref.alloc()
// CHECK: memref.copy %[[X]], %[[NEW]]
// CHECK: commsched_rt.start {{.*}} outs(%[[NEW]] {{.*}}in_place
// CHECK: linalg.add ins(%[[X]]
func.func @all_reduce_of_needed() -> (tensor<8xf32>, tensor<8xf32>) {
  %x = call @fill() : () -> tensor<8xf32>
  %f = commsched.all_reduce %x on @g reduction(sum) into %x
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.add ins(%x, %x : tensor<8xf32>, tensor<8xf32>)
      outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %r, %y : tensor<8xf32>, tensor<8xf32>
}

// An argument is the caller's, and stays as it is; a freeable one does not,
// nor one that the next repetition replaces.
// CHECK-LABEL: func.func @arguments(
// CHECK-SAME: %[[KEPT:.*]]: memref<8xf32>, %[[FREEABLE:.*]]: memref<8xf32> {{.*}}, %[[CARRIED:.*]]: memref<8xf32> {
// CHECK: %[[NEW:.*]] = memref.alloc()
// CHECK: memref.copy %[[KEPT]], %[[NEW]]
// CHECK: commsched_rt.start {{.*}} outs(%[[NEW]] {{.*}}in_place
// CHECK: commsched_rt.start {{.*}} outs(%[[FREEABLE]] {{.*}}in_place
// CHECK: commsched_rt.start {{.*}} outs(%[[CARRIED]] {{.*}}in_place
func.func @arguments(%x: tensor<8xf32>,
                     %y: tensor<8xf32> {commsched.freeable},
                     %z: tensor<8xf32> {commsched.carried = 2 : i64})
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %f = commsched.all_reduce %x on @g reduction(sum) into %x
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  %h = commsched.all_reduce %y on @g reduction(sum) into %y
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %s = commsched.wait %h : !commsched.future<tensor<8xf32>>
  %i = commsched.all_reduce %z on @g reduction(sum) into %z
      : tensor<8xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %t = commsched.wait %i : !commsched.future<tensor<8xf32>>
  return %r, %s, %t : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// The gather in place of FSDP: the shards are copied into the buffer, and that
// is all.
// CHECK-LABEL: func.func @gather_in_place
// CHECK-COUNT-1: memref.alloc()
// CHECK-NOT: memref.alloc
// CHECK-COUNT-2: commsched_rt.copy
// CHECK-NOT: copy
// CHECK: commsched_rt.start "all_gather" {{.*}} on @g outs(%[[BUFFER:.*]] : memref<48xf32>) {in_place
// CHECK-NEXT: commsched_rt.wait %{{.*}} outs(%[[BUFFER]]
// CHECK-NEXT: return %[[BUFFER]]
func.func @gather_in_place(%a: tensor<2x4xf32>, %b: tensor<4xf32>)
    -> tensor<48xf32> {
  %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g
      : tensor<2x4xf32>, tensor<4xf32> -> tensor<12xf32>, tensor<48xf32>
  %f = commsched.all_gather %slice on @g dim(0) into %buffer
      : tensor<12xf32> into tensor<48xf32> -> !commsched.future<tensor<48xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<48xf32>>
  return %r : tensor<48xf32>
}

// In a loop, the buffer that is written is not the one that the next iteration
// sends while the last is in flight.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for {{.*}} iter_args(%[[X:[a-z0-9]+]] = %
// CHECK: %[[REQUEST:.*]] = commsched_rt.start {{.*}} ins(%[[X]] {{.*}} outs(%[[NEW:.*]] : memref<8xf32>)
// CHECK: linalg.add ins(%[[X]], %[[X]] {{.*}} outs(%[[SUM:.*]] :
// CHECK: commsched_rt.wait %[[REQUEST]] ins(%[[X]] {{.*}} outs(%[[NEW]]
func.func @loop(%n: index) -> tensor<8xf32> {
  %x = call @fill() : () -> tensor<8xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %result = scf.for %i = %zero to %n step %one iter_args(%a = %x)
      -> tensor<8xf32> {
    %f = commsched.all_reduce %a on @g reduction(sum)
        : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %y = linalg.add ins(%a, %a : tensor<8xf32>, tensor<8xf32>)
        outs(%a : tensor<8xf32>) -> tensor<8xf32>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %z = linalg.add ins(%y, %r : tensor<8xf32>, tensor<8xf32>)
        outs(%r : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %z : tensor<8xf32>
  }
  return %result : tensor<8xf32>
}
