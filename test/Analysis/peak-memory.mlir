// RUN: %rows %s | commsched-opt --commsched-report=format=json -o /dev/null | FileCheck %s

// The peak of live bytes, a rule of the memory model a function. Those that
// programs of random-budgets.test follow, too, are compared with a model there. A
// tensor T has 4096 bytes. The comments count in T what is live when an operation
// has allocated its results and freed nothing yet.

!T = tensor<1024xf32>
!future = !commsched.future<!T>
!t = tensor<32x32xf32>
!m = memref<1024xf32>
!u = tensor<256xf32>
!v = tensor<64xf32>
!w = tensor<i32>
commsched.group @g size(4)

// What the next repetition replaces goes after its last use. At a: x, s, a = 3,
// then x goes; at b: s, a, b = 3, then s and a go; at c: b, c.
// CHECK: "function":"carried_arguments_go",{{.*}}"peak_memory_bytes":12288,
func.func @carried_arguments_go(%x: !T {commsched.carried = 0 : i64},
    %s: !T {commsched.carried = 1 : i64}) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a, %s) : (!T, !T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  return %c, %b : !T, !T
}

// Without leave to free, arguments stay. At c: x, s, b, c.
// CHECK: "function":"other_roles_stay",{{.*}}"peak_memory_bytes":16384,
func.func @other_roles_stay(%x: !T {commsched.role = "parameter"},
    %s: !T {commsched.role = "tangent"}) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a, %s) : (!T, !T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  return %c : !T
}

// Memref arguments stay like others: m, x, a, b.
// CHECK: "function":"memref_argument_stays",{{.*}}"peak_memory_bytes":16384,
func.func @memref_argument_stays(%m: !m, %x: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %b : !T
}

// The view-like operations of tensor: only a and the small b, next to x.
// CHECK: "function":"tensor_views",{{.*}}"peak_memory_bytes":9216,
func.func @tensor_views(%x: !T) -> !u {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %0 = tensor.cast %a : !T to tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to !T
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [32, 32] : !T into !t
  %3 = tensor.extract_slice %2[0, 0] [32, 32] [1, 1] : !t to !t
  %4 = tensor.collapse_shape %3 [[0, 1]] : !t into !T
  %b = commsched.compute "b"(%4) : (!T) -> !u
  return %b : !u
}

// Scalars, and tensors of 0 elements, take nothing; sub-byte elements take
// whole bytes: 4096 + 1024 + 4096.
// CHECK: "function":"sizes",{{.*}}"peak_memory_bytes":9216,
func.func @sizes(%x: !T, %i: i64) -> tensor<512xcomplex<f32>> {
  %e = commsched.compute "empty"(%i) : (i64) -> tensor<0x1024xf32>
  %a = commsched.compute "a"(%x, %e) : (!T, tensor<0x1024xf32>) -> tensor<1024xi4>
  %b = commsched.compute "b"(%a) : (tensor<1024xi4>) -> tensor<512xcomplex<f32>>
  return %b : tensor<512xcomplex<f32>>
}

// In place of what it sends: x, a; then x, a and the small c.
// CHECK: "function":"into_what_is_sent",{{.*}}"peak_memory_bytes":9216,
func.func @into_what_is_sent(%x: !T) -> !u {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  $run(%r = all_reduce %a on @g reduction(sum) into %a : !T into !T -> !T)
  %c = commsched.compute "c"(%r) : (!T) -> !u
  return %c : !u
}

// The slice lies in the buffer, and the gather fills the buffer: a, b (1152
// bytes), the buffer (4608), and the tensors unpacked from it (4608).
// CHECK: "function":"bucket_in_place",{{.*}}"peak_memory_bytes":10368,
func.func @bucket_in_place(%a: tensor<16x32xbf16>, %b: tensor<8x8xbf16>)
    -> (tensor<64x32xbf16>, tensor<32x8xbf16>) {
  %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g
      : tensor<16x32xbf16>, tensor<8x8xbf16>
        -> tensor<576xbf16>, tensor<2304xbf16>
  $run(%gathered = all_gather %slice on @g dim(0) into %buffer
      : tensor<576xbf16> into tensor<2304xbf16> -> tensor<2304xbf16>)
  %full:2 = commsched.split_with_sizes_copy %gathered on @g
      : tensor<2304xbf16> -> tensor<64x32xbf16>, tensor<32x8xbf16>
  return %full#0, %full#1 : tensor<64x32xbf16>, tensor<32x8xbf16>
}

// A destination holds the result: x, y and one matrix of 4096 bytes.
// CHECK: "function":"destination_operands",{{.*}}"peak_memory_bytes":12288,
func.func @destination_operands(%x: !t, %y: !t) -> !t {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !t
  %init = linalg.fill ins(%zero : f32) outs(%empty : !t) -> !t
  %r = linalg.matmul ins(%x, %y : !t, !t) outs(%init : !t) -> !t
  return %r : !t
}

// Also one that the same operation reads: x, a.
// CHECK: "function":"destination_is_read",{{.*}}"peak_memory_bytes":8192,
func.func @destination_is_read(%x: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %r = linalg.add ins(%a, %x : !T, !T) outs(%a : !T) -> !T
  return %r : !T
}

// Also an argument: x, y.
// CHECK: "function":"destination_is_an_argument",{{.*}}"peak_memory_bytes":8192,
func.func @destination_is_an_argument(%x: !T, %y: !T) -> !T {
  %r = linalg.exp ins(%x : !T) outs(%y : !T) -> !T
  return %r : !T
}

// Also one that was read before, which then has to stay before: x, a, b.
// CHECK: "function":"destination_was_read_before",{{.*}}"peak_memory_bytes":12288,
func.func @destination_was_read_before(%x: !T) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  %r = linalg.exp ins(%x : !T) outs(%a : !T) -> !T
  return %r, %b : !T, !T
}

// A destination that is read later has to be kept, so the result is a copy: x,
// a, r; then x, a, r and b.
// CHECK: "function":"destination_is_read_later",{{.*}}"peak_memory_bytes":16384,
func.func @destination_is_read_later(%x: !T) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %r = linalg.add ins(%a, %x : !T, !T) outs(%a : !T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %r, %b : !T, !T
}

// An operation in place makes no storage: its result is a view of what it
// writes. x, a; then x, a and the small c.
// CHECK: "function":"mutated_in_place",{{.*}}"peak_memory_bytes":9216,
func.func @mutated_in_place(%x: !T) -> !u {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "add_"(%a) {alias = 0 : i64, mutates = array<i64: 0>} : (!T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !u
  return %c : !u
}

// An unsharded parameter has storage from where it is grown to where it is
// freed, twice here. Growing: full, x, p = 3; full goes with the copy; y makes
// x, p, y = 3; freed: x, y; z: x, y, z = 3; grown again: x, z, p = 3; then with
// r x, z, p, r = 4.
// CHECK: "function":"unsharded_parameter",{{.*}}"peak_memory_bytes":16384,
func.func @unsharded_parameter(%p: !m {commsched.role = "unsharded_param"},
    %full: !T {commsched.freeable}, %x: !T) -> !T {
  commsched.resize_storage %p bytes(4096) : !m
  commsched.fsdp_copy %full into %p : !T, !m
  %w = bufferization.to_tensor %p : !m to !T
  %y = commsched.compute "y"(%x, %w) : (!T, !T) -> !T
  commsched.resize_storage %p bytes(0) : !m
  %z = commsched.compute "z"(%y) : (!T) -> !T
  commsched.resize_storage %p bytes(4096) : !m
  commsched.fsdp_copy %x into %p : !T, !m
  %w2 = bufferization.to_tensor %p : !m to !T
  %r = commsched.compute "r"(%z, %w2) : (!T, !T) -> !T
  commsched.resize_storage %p bytes(0) : !m
  return %r : !T
}

// Between the two lives of the parameter nothing of it is there: at z x, y, z
// and, if it were still there, a fourth. (r needs no parameter here.)
// CHECK: "function":"freed_between_two_lives",{{.*}}"peak_memory_bytes":12288,
func.func @freed_between_two_lives(%p: !m {commsched.role = "unsharded_param"}, %x: !T) -> !T {
  commsched.resize_storage %p bytes(4096) : !m
  %w = bufferization.to_tensor %p : !m to !T
  %y = commsched.compute "y"(%w) : (!T) -> !T
  commsched.resize_storage %p bytes(0) : !m
  %z = commsched.compute "z"(%y) : (!T) -> !T
  commsched.resize_storage %p bytes(4096) : !m
  commsched.resize_storage %p bytes(0) : !m
  return %z : !T
}

// Grown and never freed, it stays: at z: x, p, y, z.
// CHECK: "function":"parameter_never_freed",{{.*}}"peak_memory_bytes":16384,
func.func @parameter_never_freed(%p: !m {commsched.role = "unsharded_param"}, %x: !T) -> !T {
  commsched.resize_storage %p bytes(4096) : !m
  %w = bufferization.to_tensor %p : !m to !T
  %y = commsched.compute "y"(%w) : (!T) -> !T
  %z = commsched.compute "z"(%y) : (!T) -> !T
  return %z : !T
}

// Freeable, it goes after its last use all the same: at z x, y, z.
// CHECK: "function":"freeable_parameter_never_freed",{{.*}}"peak_memory_bytes":12288,
func.func @freeable_parameter_never_freed(%p:
    !m {commsched.role = "unsharded_param", commsched.freeable}, %x: !T) -> !T {
  commsched.resize_storage %p bytes(4096) : !m
  %w = bufferization.to_tensor %p : !m to !T
  %y = commsched.compute "y"(%w) : (!T) -> !T
  %z = commsched.compute "z"(%y) : (!T) -> !T
  return %z : !T
}

// Growing what is there already changes nothing: at z x, p, y and the small z.
// CHECK: "function":"grown_twice",{{.*}}"peak_memory_bytes":13312,
func.func @grown_twice(%p: !m {commsched.role = "unsharded_param"}, %x: !T) -> !u {
  commsched.resize_storage %p bytes(4096) : !m
  %w = bufferization.to_tensor %p : !m to !T
  %y = commsched.compute "y"(%w) : (!T) -> !T
  %z = commsched.compute "z"(%y) : (!T) -> !u
  commsched.resize_storage %p bytes(4096) : !m
  commsched.resize_storage %p bytes(0) : !m
  return %z : !u
}

// Through a view of the argument: x, p, y = 3; then x, y, z
// = 2 1/4.
// CHECK: "function":"grown_through_a_view",{{.*}}"peak_memory_bytes":12288,
func.func @grown_through_a_view(%p: !m {commsched.role = "unsharded_param"}, %x: !T) -> !u {
  %v = memref.expand_shape %p [[0, 1]] output_shape [32, 32] : !m into memref<32x32xf32>
  commsched.resize_storage %v bytes(4096) : memref<32x32xf32>
  %w = bufferization.to_tensor %p : !m to !T
  %y = commsched.compute "y"(%w) : (!T) -> !T
  commsched.resize_storage %v bytes(0) : memref<32x32xf32>
  %z = commsched.compute "z"(%y) : (!T) -> !u
  return %z : !u
}

// A parameter that is freed first had its storage from the start: p, x, y = 3;
// at z x, y, z = 2 1/4.
// CHECK: "function":"parameter_from_the_start",{{.*}}"peak_memory_bytes":12288,
func.func @parameter_from_the_start(%p: !m {commsched.role = "unsharded_param"}, %x: !T) -> !u {
  %w = bufferization.to_tensor %p : !m to !T
  %y = commsched.compute "y"(%w) : (!T) -> !T
  commsched.resize_storage %p bytes(0) : !m
  %z = commsched.compute "z"(%y) : (!T) -> !u
  return %z : !u
}

// An unsharded parameter that nothing uses is left without storage; what it is
// that nothing uses else does not matter: q, x, y = 3.
// CHECK: "function":"unused_parameter",{{.*}}"peak_memory_bytes":12288,
func.func @unused_parameter(%p: !m {commsched.role = "unsharded_param"}, %q: !m
    {commsched.role = "parameter"}, %x: !T) -> !T {
  %y = commsched.compute "y"(%x) : (!T) -> !T
  return %y : !T
}

//===----------------------------------------------------------------------===//
// Values that loops carry
//===----------------------------------------------------------------------===//

// A loop takes over the storage of what it starts with, although that is read
// before: x, a, b, w.
// CHECK: "function":"loop_takes_over",{{.*}}"peak_memory_bytes":16384,
func.func @loop_takes_over(%x: !T, %n: index) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  %r = scf.for %i = %n to %n step %n iter_args(%v = %a) -> !T {
    %w = commsched.compute "w"(%v) : (!T) -> !T
    scf.yield %w : !T
  }
  return %b, %r : !T, !T
}

// It copies what is read behind it: x, a, r; then x, a, r, b.
// CHECK: "function":"loop_keeps_what_is_read_later",{{.*}}"peak_memory_bytes":16384,
func.func @loop_keeps_what_is_read_later(%x: !T, %n: index) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %r = scf.for %i = %n to %n step %n iter_args(%v = %a) -> !T {
    %w = commsched.compute "w"(%v) : (!T) -> !T
    scf.yield %w : !T
  }
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %b, %r : !T, !T
}

// It copies what its body reads beside: x, a, r, w.
// CHECK: "function":"loop_keeps_what_its_body_reads",{{.*}}"peak_memory_bytes":16384,
func.func @loop_keeps_what_its_body_reads(%x: !T, %n: index) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %r = scf.for %i = %n to %n step %n iter_args(%v = %a) -> !T {
    %w = commsched.compute "w"(%v, %a) : (!T, !T) -> !T
    scf.yield %w : !T
  }
  return %r : !T
}

// What no iteration uses gives its storage to w at once: x, a, r.
// CHECK: "function":"loop_replaces_what_it_does_not_use",{{.*}}"peak_memory_bytes":12288,
func.func @loop_replaces_what_it_does_not_use(%x: !T, %n: index) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %r = scf.for %i = %n to %n step %n iter_args(%v = %x) -> !T {
    %w = commsched.compute "w"(%a) : (!T) -> !T
    scf.yield %w : !T
  }
  return %a, %r : !T, !T
}

// It copies an argument that nobody lets go, and not one that may be freed: x,
// y, r, w; y and s have one storage, and t is there when w is copied to r.
// CHECK: "function":"loop_over_arguments",{{.*}}"peak_memory_bytes":16384,
func.func @loop_over_arguments(%x: !T, %y: !T {commsched.freeable}, %n: index) -> (!T, !T) {
  %r:2 = scf.for %i = %n to %n step %n iter_args(%v = %x, %u = %y) -> (!T, !T) {
    %w = commsched.compute "w"(%v) : (!T) -> !T
    %t = commsched.compute "t"(%u) : (!T) -> !T
    scf.yield %w, %t : !T, !T
  }
  return %r#0, %r#1 : !T, !T
}

// Of two values that start as one, one takes over its storage: x, a, r#1, and what an iteration makes.
// CHECK: "function":"loop_starts_twice_with_one_value",{{.*}}"peak_memory_bytes":16384,
func.func @loop_starts_twice_with_one_value(%x: !T, %n: index) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %r:2 = scf.for %i = %n to %n step %n iter_args(%v = %a, %u = %a) -> (!T, !T) {
    %w = commsched.compute "w"(%v) : (!T) -> !T
    %t = commsched.compute "t"(%u) : (!T) -> !T
    scf.yield %w, %t : !T, !T
  }
  return %r#0, %r#1 : !T, !T
}

// What every iteration passes on is the argument; another value that starts
// with it is a copy: x, r#1, t.
// CHECK: "function":"loop_passes_on",{{.*}}"peak_memory_bytes":12288,
func.func @loop_passes_on(%x: !T {commsched.freeable}, %n: index) -> (!T, !T) {
  %r:2 = scf.for %i = %n to %n step %n iter_args(%v = %x, %u = %x) -> (!T, !T) {
    %t = commsched.compute "t"(%u, %v) : (!T, !T) -> !T
    scf.yield %v, %t : !T, !T
  }
  return %r#0, %r#1 : !T, !T
}

// A value that a collective sends is copied, so that the collective can be in
// flight beside the loop: x, a, w, r, t.
// CHECK: "function":"loop_beside_a_collective",{{.*}}"peak_memory_bytes":20480,
func.func @loop_beside_a_collective(%x: !T, %n: index) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  $run(%w = all_reduce %a on @g reduction(sum) : !T -> !T)
  %r = scf.for %i = %n to %n step %n iter_args(%v = %a) -> !T {
    %t = commsched.compute "t"(%v) : (!T) -> !T
    scf.yield %t : !T
  }
  return %w, %r : !T, !T
}

// The condition of a while passes on the argument of the second result as the
// first, and computes what becomes the second: x, y, and a storage for each of
// a and b, of which one is the first result, and the other one the second, and t.
// CHECK: "function":"while_passes_on",{{.*}}"peak_memory_bytes":16384,
func.func @while_passes_on(%x: !T, %c: i1) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %r:2 = scf.while (%v = %a, %u = %b) : (!T, !T) -> (!T, !T) {
    scf.condition(%c) %u, %v : !T, !T
  } do {
  ^bb0(%p: !T, %q: !T):
    %t = commsched.compute "t"(%q) : (!T) -> !T
    scf.yield %t, %p : !T, !T
  }
  return %r#0, %r#1 : !T, !T
}

// A loop of StableHLO passes on x, takes over a, and copies y: x, y, a, r#2, and what an iteration makes.
// CHECK: "function":"stablehlo_while",{{.*}}"peak_memory_bytes":20480,
func.func @stablehlo_while(%x: !T, %y: !T) -> (!T, !T) {
  %a = "stablehlo.add"(%x, %y) : (!T, !T) -> !T
  %r:3 = "stablehlo.while"(%x, %a, %y) ({
  ^bb0(%p: !T, %v: !T, %u: !T):
    %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}>
        : () -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%p: !T, %v: !T, %u: !T):
    %s = "stablehlo.add"(%p, %v) : (!T, !T) -> !T
    %t = "stablehlo.add"(%p, %u) : (!T, !T) -> !T
    "stablehlo.return"(%p, %s, %t) : (!T, !T, !T) -> ()
  }) : (!T, !T, !T) -> (!T, !T, !T)
  return %r#1, %r#2 : !T, !T
}

//===----------------------------------------------------------------------===//
// Updates of a part of a value
//===----------------------------------------------------------------------===//

// Updates take over the value before, which was read, also that of an argument
// that may be freed: x, a, b, u and the index.
// CHECK: "function":"updates_take_over",{{.*}}"peak_memory_bytes":12548,
func.func @updates_take_over(%x: !T {commsched.freeable}, %u: !v, %i: !w) -> (!T, !T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  %r = "stablehlo.dynamic_update_slice"(%x, %u, %i) : (!T, !v, !w) -> !T
  %s = "stablehlo.dynamic_update_slice"(%a, %u, %i) : (!T, !v, !w) -> !T
  %t = tensor.insert_slice %u into %s[64] [64] [1] : !v into !T
  return %b, %r, %t : !T, !T, !T
}

// An update copies what the caller keeps, and what is read later: x, r, s, t, u
// and the index.
// CHECK: "function":"updates_copy",{{.*}}"peak_memory_bytes":13572,
func.func @updates_copy(%x: !T, %u: !v, %i: !w) -> (!T, !u) {
  %r = "stablehlo.dynamic_update_slice"(%x, %u, %i) : (!T, !v, !w) -> !T
  %s = "stablehlo.dynamic_update_slice"(%r, %u, %i) : (!T, !v, !w) -> !T
  %t = commsched.compute "t"(%r) : (!T) -> !u
  return %s, %t : !T, !u
}

// What is in a region comes from around it, and the region may run again: x,
// a, r, and what an iteration makes.
// CHECK: "function":"update_in_a_region",{{.*}}"peak_memory_bytes":16640,
func.func @update_in_a_region(%x: !T, %u: !v, %n: index) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %r = scf.for %i = %n to %n step %n iter_args(%v = %x) -> !T {
    %t = tensor.insert_slice %u into %a[64] [64] [1] : !v into !T
    commsched.compute "k"(%v, %t) : (!T, !T) -> ()
    scf.yield %t : !T
  }
  return %r : !T
}

// A collective in a region keeps nothing behind the region that it was waited for
// in: x or what takes it over, b, and u.
// CHECK: "function":"update_behind_a_region",{{.*}}"peak_memory_bytes":8448,
func.func @update_behind_a_region(%x: !T {commsched.freeable}, %u: !v, %n: index) -> (!T, !T) {
  scf.for %i = %n to %n step %n {
    %f = commsched.all_reduce %x on @g reduction(sum) : !T -> !future
    commsched.wait %f : !future
  }
  %b = commsched.compute "b"() : () -> !T
  %r = tensor.insert_slice %u into %x[64] [64] [1] : !v into !T
  return %r, %b : !T, !T
}
