// RUN: commsched-opt --cse --loop-invariant-code-motion %s | %orders | FileCheck %s
// RUN: commsched-opt --cse --canonicalize --loop-invariant-code-motion %s | %orders | FileCheck %s

// Generic passes leave communication alone and treat an opaque operator by its
// stated effects.

!t = tensor<4xf32>
!future = !commsched.future<!t>
!u = tensor<2x2xf32>
!v = tensor<4xf32, #commsched.host>
!w = tensor<8xf32>
!m = memref<4xf32>
commsched.group @dp size(2)

// Two equal starts are two launches, or two transfers.
// CHECK-LABEL: func.func @cse_keeps_starts(
// CHECK-NEXT: // order: all_reduce all_reduce wait wait barrier barrier offload offload wait wait{{$}}
func.func @cse_keeps_starts(%x: !t) -> (!t, !t, !v, !v) {
  %0 = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %1 = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %2 = commsched.wait %0 : !future
  %3 = commsched.wait %1 : !future
  commsched.barrier on @dp
  commsched.barrier on @dp
  %4 = commsched.offload %x : !t -> !commsched.future<!v>
  %5 = commsched.offload %x : !t -> !commsched.future<!v>
  %6 = commsched.wait %4 : !commsched.future<!v>
  %7 = commsched.wait %5 : !commsched.future<!v>
  return %2, %3, %6, %7 : !t, !t, !v, !v
}

// A loop that repeats a collective launches it each time.
// CHECK-LABEL: func.func @licm_keeps_collectives(
// CHECK-NEXT: // order: {{.*}}scf.for { all_reduce wait arith.addf scf.yield }{{$}}
func.func @licm_keeps_collectives(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> !t {
    %0 = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
    %1 = commsched.wait %0 : !future
    %2 = arith.addf %acc, %1 : !t
    scf.yield %2 : !t
  }
  return %r : !t
}

// CHECK-LABEL: func.func @cse_merges_pure_compute(
// CHECK-NEXT: // order: aten.sin aten.view{{$}}
// CHECK-NEXT: %[[Y:.+]] = commsched.compute "aten.sin"
// CHECK-NEXT: %[[V:.+]] = commsched.compute "aten.view"
// CHECK-NEXT: return %[[Y]], %[[Y]], %[[V]], %[[V]]
func.func @cse_merges_pure_compute(%x: !t) -> (!t, !t, !u, !u) {
  %0 = commsched.compute "aten.sin"(%x) : (!t) -> !t
  %1 = commsched.compute "aten.sin"(%x) : (!t) -> !t
  %dead = commsched.compute "aten.cos"(%x) : (!t) -> !t
  %2 = commsched.compute "aten.view"(%x) {alias = 0 : i64} : (!t) -> !u
  %3 = commsched.compute "aten.view"(%x) {alias = 0 : i64} : (!t) -> !u
  return %0, %1, %2, %3 : !t, !t, !u, !u
}

// In-place collectives write into the two buffers.
// CHECK-LABEL: func.func @cse_keeps_buffers(
// CHECK-NEXT: // order: all_gather_copy_in all_gather_copy_in all_gather all_reduce wait wait{{$}}
func.func @cse_keeps_buffers(%x: !t) -> (!w, !w) {
  %slice0, %buffer0 = commsched.all_gather_copy_in %x on @dp : !t -> !t, !w
  %slice1, %buffer1 = commsched.all_gather_copy_in %x on @dp : !t -> !t, !w
  %unused_slice, %unused_buffer = commsched.all_gather_copy_in %x on @dp
      : !t -> !t, !w
  %0 = commsched.all_gather %slice0 on @dp dim(0) into %buffer0
      : !t into !w -> !commsched.future<!w>
  %1 = commsched.all_reduce %buffer1 on @dp reduction(sum) into %buffer1
      : !w into !w -> !commsched.future<!w>
  %2 = commsched.wait %0 : !commsched.future<!w>
  %3 = commsched.wait %1 : !commsched.future<!w>
  return %2, %3 : !w, !w
}

// CHECK-LABEL: func.func @cse_keeps_random(
// CHECK-NEXT: // order: aten.rand aten.rand aten.dropout{{$}}
func.func @cse_keeps_random(%x: !t) -> (!t, !t) {
  %0 = commsched.compute "aten.rand"() {random} : () -> !t
  %1 = commsched.compute "aten.rand"() {random} : () -> !t
  // It advances the generator, though its numbers are unused.
  %2 = commsched.compute "aten.dropout"(%x) {random} : (!t) -> !t
  return %0, %1 : !t, !t
}

// CHECK-LABEL: func.func @cse_keeps_mutation(
// CHECK-NEXT: // order: aten.add_ aten.add_ print print{{$}}
func.func @cse_keeps_mutation(%m: !m) {
  %0 = commsched.compute "aten.add_"(%m) {mutates = array<i64: 0>} : (!m) -> !t
  %1 = commsched.compute "aten.add_"(%m) {mutates = array<i64: 0>} : (!m) -> !t
  commsched.compute "print"() : () -> ()
  commsched.compute "print"() : () -> ()
  return
}

// A copy-in may run anywhere; whether an opaque operator may run for a loop
// without iterations is not known.
// CHECK-LABEL: func.func @licm_moves_known_copies(
// CHECK-NEXT: // order: {{.*}}chunk_cat scf.for { aten.sin aten.rand aten.sum scf.yield }{{$}}
func.func @licm_moves_known_copies(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> !t {
    %0 = commsched.compute "aten.sin"(%x) : (!t) -> !t
    %1 = commsched.compute "aten.rand"() {random} : () -> !t
    %2 = commsched.chunk_cat %x on @dp : !t -> !t
    %3 = commsched.compute "aten.sum"(%acc, %0, %1, %2) : (!t, !t, !t, !t) -> !t
    scf.yield %3 : !t
  }
  return %r : !t
}

// CHECK-LABEL: func.func @storage_in_order(
// CHECK-NEXT: // order: resize_storage fsdp_copy resize_storage resize_storage fsdp_copy{{$}}
func.func @storage_in_order(%p: !m, %x: !t) {
  commsched.resize_storage %p bytes(16) : !m
  commsched.fsdp_copy %x into %p : !t, !m
  commsched.resize_storage %p bytes(0) : !m
  commsched.resize_storage %p bytes(16) : !m
  commsched.fsdp_copy %x into %p : !t, !m
  return
}
