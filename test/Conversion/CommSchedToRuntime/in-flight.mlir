// RUN: %rows %s | commsched-opt --test-convert-commsched-to-requests \
// RUN:   --one-shot-bufferize="allow-return-allocs-from-loops bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   --buffer-deallocation-pipeline --optimize-allocation-liveness | FileCheck %s

// What may not happen to memory while a collective is in flight.

!t = tensor<8xf32>
!future = !commsched.future<!t>
commsched.group @g size(4)
func.func private @fill() -> !t

// What is sent is not overwritten in place before the wait.
// CHECK-LABEL: func.func @write_operand
// CHECK: %[[X:.*]] = call @fill()
// CHECK: %[[REQUEST:.*]] = commsched_rt.start "all_reduce" {{.*}} ins(%[[X]]
// CHECK: %[[NEW:.*]] = memref.alloc()
// CHECK: linalg.add ins(%[[X]], %[[X]] {{.*}} outs(%[[NEW]]
// CHECK: commsched_rt.wait %[[REQUEST]] ins(%[[X]]
func.func @write_operand() -> (!t, !t) {
  %x = call @fill() : () -> !t
  %f = commsched.all_reduce %x on @g reduction(sum) : !t -> !future
  %y = linalg.add ins(%x, %x : !t, !t) outs(%x : !t) -> !t
  %r = commsched.wait %f : !future
  return %y, %r : !t, !t
}

// After the wait it may be.
// CHECK-LABEL: func.func @write_after_wait
// CHECK: %[[X:.*]] = call @fill()
// CHECK: commsched_rt.wait
// CHECK: linalg.add ins(%[[X]], %[[X]] {{.*}} outs(%[[X]]
func.func @write_after_wait() -> (!t, !t) {
  %x = call @fill() : () -> !t
  $run(%r = all_reduce %x on @g reduction(sum) : !t -> !t)
  %y = linalg.add ins(%x, %x : !t, !t) outs(%x : !t) -> !t
  return %y, %r : !t, !t
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
func.func @read_destination() -> (!t, !t) {
  %x = call @fill() : () -> !t
  %old = call @fill() : () -> !t
  %f = commsched.all_reduce %x on @g reduction(sum) into %old : !t into !t -> !future
  %e = tensor.empty() : !t
  %y = linalg.add ins(%old, %x : !t, !t) outs(%e : !t) -> !t
  %r = commsched.wait %f : !future
  return %y, %r : !t, !t
}

// Otherwise it is.
// CHECK-LABEL: func.func @write_destination
// CHECK: %[[X:.*]] = call @fill()
// CHECK: %[[OLD:.*]] = call @fill()
// CHECK-NOT: memref.alloc
// CHECK: commsched_rt.start {{.*}} ins(%[[X]] {{.*}} outs(%[[OLD]]
// CHECK: commsched_rt.wait {{.*}} outs(%[[OLD]]
// CHECK: return %[[OLD]]
func.func @write_destination() -> !t {
  %x = call @fill() : () -> !t
  %old = call @fill() : () -> !t
  $run(%r = all_reduce %x on @g reduction(sum) into %old : !t into !t -> !t)
  return %r : !t
}

// One empty tensor is two buffers.
// CHECK-LABEL: func.func @shared_destination
// CHECK-DAG: %[[A:.*]] = memref.alloc()
// CHECK-DAG: %[[B:.*]] = memref.alloc()
// CHECK: commsched_rt.start {{.*}} outs(%[[FIRST:.*]] : memref
// CHECK-NOT: commsched_rt.start {{.*}} outs(%[[FIRST]] :
// CHECK: commsched_rt.start {{.*}} outs(%{{.*}} : memref
func.func @shared_destination(%x: !t) -> (!t, !t) {
  %e = tensor.empty() : !t
  %f = commsched.all_reduce %x on @g reduction(sum) into %e : !t into !t -> !future
  %h = commsched.all_reduce %x on @g reduction(max) into %e : !t into !t -> !future
  %r = commsched.wait %f : !future
  %s = commsched.wait %h : !future
  return %r, %s : !t, !t
}

// What is sent is freed after the wait, although the start is the last to name
// it.
// CHECK-LABEL: func.func @free_operand
// CHECK: %[[X:.*]] = memref.alloc()
// CHECK: commsched_rt.start {{.*}} ins(%[[X]]
// CHECK-NOT: memref.dealloc %[[X]] :
// CHECK: commsched_rt.wait {{.*}} ins(%[[X]]
// CHECK: memref.dealloc %[[X]]
func.func @free_operand(%a: !t) -> !t {
  %e = tensor.empty() : !t
  %x = linalg.add ins(%a, %a : !t, !t) outs(%e : !t) -> !t
  %f = commsched.all_reduce %x on @g reduction(sum) : !t -> !future
  %y = commsched.compute "other"(%a) {commsched.runtime_ns = 10} : (!t) -> !t
  %r = commsched.wait %f : !future
  return %r : !t
}

// In place is in place: nothing is allocated, nothing copied.
// CHECK-LABEL: func.func @all_reduce_in_place
// CHECK: %[[X:.*]] = call @fill()
// CHECK-NEXT: %[[REQUEST:.*]] = commsched_rt.start {{.*}} on @g outs(%[[X]] {{.*}}in_place
// CHECK-NEXT: commsched_rt.wait %[[REQUEST]] outs(%[[X]]
// CHECK-NEXT: return %[[X]]
func.func @all_reduce_in_place() -> !t {
  %x = call @fill() : () -> !t
  $run(%r = all_reduce %x on @g reduction(sum) into %x : !t into !t -> !t)
  return %r : !t
}

// ... unless the old contents are needed: then the operand is copied first.
// CHECK-LABEL: func.func @all_reduce_of_needed
// CHECK: %[[X:.*]] = call @fill()
// CHECK: %[[NEW:.*]] = memref.alloc()
// CHECK: memref.copy %[[X]], %[[NEW]]
// CHECK: commsched_rt.start {{.*}} outs(%[[NEW]] {{.*}}in_place
// CHECK: linalg.add ins(%[[X]]
func.func @all_reduce_of_needed() -> (!t, !t) {
  %x = call @fill() : () -> !t
  $run(%r = all_reduce %x on @g reduction(sum) into %x : !t into !t -> !t)
  %e = tensor.empty() : !t
  %y = linalg.add ins(%x, %x : !t, !t) outs(%e : !t) -> !t
  return %r, %y : !t, !t
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
func.func @arguments(%x: !t, %y: !t {commsched.freeable},
                     %z: !t {commsched.carried = 2}) -> (!t, !t, !t) {
  $run(%r = all_reduce %x on @g reduction(sum) into %x : !t into !t -> !t)
  $run(%s = all_reduce %y on @g reduction(sum) into %y : !t into !t -> !t)
  $run(%t = all_reduce %z on @g reduction(sum) into %z : !t into !t -> !t)
  return %r, %s, %t : !t, !t, !t
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
func.func @gather_in_place(%a: tensor<2x4xf32>, %b: tensor<4xf32>) -> tensor<48xf32> {
  %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g
      : tensor<2x4xf32>, tensor<4xf32> -> tensor<12xf32>, tensor<48xf32>
  $run(%r = all_gather %slice on @g dim(0) into %buffer : tensor<12xf32> into tensor<48xf32> -> tensor<48xf32>)
  return %r : tensor<48xf32>
}

// In a loop, the buffer that is written is not the one that the next iteration
// sends while the last is in flight.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for {{.*}} iter_args(%[[X:[a-z0-9]+]] = %
// CHECK: %[[REQUEST:.*]] = commsched_rt.start {{.*}} ins(%[[X]] {{.*}} outs(%[[NEW:.*]] : memref<8xf32>)
// CHECK: linalg.add ins(%[[X]], %[[X]] {{.*}} outs(%[[SUM:.*]] :
// CHECK: commsched_rt.wait %[[REQUEST]] ins(%[[X]] {{.*}} outs(%[[NEW]]
func.func @loop(%n: index) -> !t {
  %x = call @fill() : () -> !t
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %result = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> !t {
    %f = commsched.all_reduce %a on @g reduction(sum) : !t -> !future
    %y = linalg.add ins(%a, %a : !t, !t) outs(%a : !t) -> !t
    %r = commsched.wait %f : !future
    %z = linalg.add ins(%y, %r : !t, !t) outs(%r : !t) -> !t
    scf.yield %z : !t
  }
  return %result : !t
}
