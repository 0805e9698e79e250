// RUN: %rows %s | commsched-opt --commsched-report=format=json -o /dev/null | FileCheck %s

LET $run(W = OP -> T) W.start = commsched.OP -> !commsched.future<T>
  W = commsched.wait W.start : !commsched.future<T>

// The peak of live bytes, one rule of the memory model a function. A tensor T
// has 4096 bytes. The comments count in T what is live when an operation has
// allocated its results and freed nothing yet.

!T = tensor<1024xf32>
!future = !commsched.future<!T>
!t = tensor<32x32xf32>
!m = memref<1024xf32>
!u = tensor<256xf32>
!v = tensor<64xf32>
!w = tensor<i32>
commsched.group @g size(4)

// Arguments stay although they have no further users: x, y, a; then x, y, a, b.
// CHECK: "function":"arguments_stay",{{.*}}"peak_memory_bytes":16384,
func.func @arguments_stay(%x: !T, %y: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %b : !T
}

// A freeable argument and a saved activation go after their last use. At a:
// x, s, a = 3, then x goes; at b: s, a, b = 3, then s and a go; at c: b, c.
// CHECK: "function":"freeable_arguments_go",{{.*}}"peak_memory_bytes":12288,
func.func @freeable_arguments_go(%x: !T {commsched.freeable},
    %s: !T {commsched.role = "saved_activation"}) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a, %s) : (!T, !T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  return %c : !T
}

// The same with what the next repetition replaces.
// CHECK: "function":"carried_arguments_go",{{.*}}"peak_memory_bytes":12288,
func.func @carried_arguments_go(%x: !T {commsched.carried = 0 : i64},
    %s: !T {commsched.carried = 1 : i64}) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a, %s) : (!T, !T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  return %c, %b : !T, !T
}

// The same without leave to free. At c: x, s, b, c.
// CHECK: "function":"other_roles_stay",{{.*}}"peak_memory_bytes":16384,
func.func @other_roles_stay(%x: !T {commsched.role = "parameter"},
    %s: !T {commsched.role = "tangent"}) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a, %s) : (!T, !T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  return %c : !T
}

// A freeable argument that is returned stays: x, a, then x, a, b.
// CHECK: "function":"returned_argument_stays",{{.*}}"peak_memory_bytes":12288,
func.func @returned_argument_stays(%x: !T {commsched.freeable}) -> (!T, !T) {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %x, %b : !T, !T
}

// A freeable argument without users stays, as no user frees it: x, y, a; then
// x, y, a, b.
// CHECK: "function":"unused_argument_stays",{{.*}}"peak_memory_bytes":16384,
func.func @unused_argument_stays(%x: !T, %y: !T {commsched.freeable}) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %b : !T
}

// The use of a view is a use of the argument: x, a, b; then b, c and the small
// d without x.
// CHECK: "function":"freeable_through_a_view",{{.*}}"peak_memory_bytes":12288,
func.func @freeable_through_a_view(%x: !T {commsched.freeable}) -> (!T, !u) {
  %v = commsched.compute "view"(%x) {alias = 0 : i64} : (!T) -> !T
  %a = commsched.compute "a"() : () -> !T
  %b = commsched.compute "b"(%a, %v) : (!T, !T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  %d = commsched.compute "d"(%c) : (!T) -> !u
  return %b, %d : !T, !u
}

// A saved activation that a collective sends goes with the wait: at b: s, the
// result, b = 3; at c: the result, b, c = 2 1/4.
// CHECK: "function":"freeable_and_sent",{{.*}}"peak_memory_bytes":12288,
func.func @freeable_and_sent(%s: !T {commsched.role = "saved_activation"})
    -> !u {
  %f = commsched.all_reduce %s on @g reduction(sum) : !T -> !future
  %b = commsched.compute "b"() : () -> !T
  %r = commsched.wait %f : !future
  %c = commsched.compute "c"(%r, %b) : (!T, !T) -> !u
  return %c : !u
}

// Memref arguments stay like others: m, x, a, b.
// CHECK: "function":"memref_argument_stays",{{.*}}"peak_memory_bytes":16384,
func.func @memref_argument_stays(%m: !m, %x: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %b : !T
}

// What a collective delivers stays when it is returned: x, the result, a, b.
// CHECK: "function":"returned_from_a_collective",{{.*}}"peak_memory_bytes":16384,
func.func @returned_from_a_collective(%x: !T) -> (!T, !T) {
  $run(%r = all_reduce %x on @g reduction(sum) : !T -> !T)
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %r, %b : !T, !T
}

// Returned through a view, the storage stays all the same: x, r, a, b. (Freed
// after the view it would be 3.)
// CHECK: "function":"returned_through_a_view",{{.*}}"peak_memory_bytes":16384,
func.func @returned_through_a_view(%x: !T) -> (!t, !T) {
  %r = commsched.compute "r"(%x) : (!T) -> !T
  %v = commsched.compute "view"(%r) {alias = 0 : i64} : (!T) -> !t
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%a) : (!T) -> !T
  return %v, %b : !t, !T
}

// A view allocates nothing and keeps what it shows: x, a; x, a, b with the
// view of a view still to come; then x, a, b, c.
// CHECK: "function":"views_keep_their_storage",{{.*}}"peak_memory_bytes":16384,
func.func @views_keep_their_storage(%x: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %v = tensor.expand_shape %a [[0, 1]] output_shape [32, 32] : !T into !t
  %w = commsched.compute "view"(%v) {alias = 0 : i64} : (!t) -> !T
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %c = commsched.compute "c"(%b, %w) : (!T, !T) -> !T
  return %c : !T
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

// An unused result is freed when its operation ends: at a: x, a = 2; at b:
// x, b = 2.
// CHECK: "function":"unused_result",{{.*}}"peak_memory_bytes":8192,
func.func @unused_result(%x: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%x) : (!T) -> !T
  return %b : !T
}

// While its operation runs it is there: a, x and both of b.
// CHECK: "function":"unused_result_while_it_is_made",{{.*}}"peak_memory_bytes":16384,
func.func @unused_result_while_it_is_made(%x: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b:2 = commsched.compute "b"(%a) : (!T) -> (!T, !T)
  return %b#0 : !T
}

// A result whose only use is a view goes with the view: x, a; then x, b, c.
// CHECK: "function":"unused_view",{{.*}}"peak_memory_bytes":12288,
func.func @unused_view(%x: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %v = commsched.compute "view"(%a) {alias = 0 : i64} : (!T) -> !T
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  return %c : !T
}

// Each result of an operation has storage of its own: x and both at a; then x,
// the second, b = 3 T; then x, b, c.
// CHECK: "function":"several_results",{{.*}}"peak_memory_bytes":12288,
func.func @several_results(%x: !T) -> !T {
  %a:2 = commsched.compute "a"(%x) : (!T) -> (!T, !T)
  %b = commsched.compute "b"(%a#1) : (!T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  return %c : !T
}

// Scalars, and tensors of 0 elements, take nothing; sub-byte elements take
// whole bytes: 4096 + 1024 + 4096.
// CHECK: "function":"sizes",{{.*}}"peak_memory_bytes":9216,
func.func @sizes(%x: !T, %i: i64) -> tensor<512xcomplex<f32>> {
  %e = commsched.compute "empty"(%i) : (i64) -> tensor<0x1024xf32>
  %a = commsched.compute "a"(%x, %e)
      : (!T, tensor<0x1024xf32>) -> tensor<1024xi4>
  %b = commsched.compute "b"(%a) : (tensor<1024xi4>) -> tensor<512xcomplex<f32>>
  return %b : tensor<512xcomplex<f32>>
}

// A start allocates what it delivers, and what it sends stays until the wait
// although nothing else uses it. At b: x, a, the result, b = 4; after the
// wait a goes; at c: x, the result, b, c = 3 1/4.
// CHECK: "function":"sent_until_the_wait",{{.*}}"peak_memory_bytes":16384,
func.func @sent_until_the_wait(%x: !T) -> !u {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %f = commsched.all_reduce %a on @g reduction(sum) : !T -> !future
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %r = commsched.wait %f : !future
  %c = commsched.compute "c"(%r, %b) : (!T, !T) -> !u
  return %c : !u
}

// A send delivers nothing and keeps what it sends until the wait: at c: x, a, b, c.
// CHECK: "function":"send_waited_late",{{.*}}"peak_memory_bytes":16384,
func.func @send_waited_late(%x: !T) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %f = commsched.send %a on @g to(1) : !T -> !commsched.future
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  commsched.wait %f : !commsched.future
  return %c : !T
}

// A receive allocates where it starts: at c x, the result, b and the small c.
// CHECK: "function":"recv",{{.*}}"peak_memory_bytes":13312,
func.func @recv(%x: !T) -> !u {
  %f = commsched.recv on @g from(0) : !future
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !u
  %r = commsched.wait %f : !future
  return %c : !u
}

// What is delivered is as large as the start says, not as what it sends: x and
// a quarter of it, then with c 3 KiB.
// CHECK: "function":"scattered",{{.*}}"peak_memory_bytes":6144,
func.func @scattered(%x: !T) -> !u {
  $run(%r = reduce_scatter %x on @g reduction(sum) dim(0) : !T -> !u)
  %c = commsched.compute "c"(%r) : (!u) -> !u
  return %c : !u
}

// A start keeps the storage behind a view that it sends: at b: x, a, the
// result, b, although nothing uses a or its view after the start.
// CHECK: "function":"sent_view_until_the_wait",{{.*}}"peak_memory_bytes":16384,
func.func @sent_view_until_the_wait(%x: !T) -> !u {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %v = commsched.compute "view"(%a) {alias = 0 : i64} : (!T) -> !T
  %f = commsched.all_reduce %v on @g reduction(sum) : !T -> !future
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %r = commsched.wait %f : !future
  %c = commsched.compute "c"(%r, %b) : (!T, !T) -> !u
  return %c : !u
}

// What is delivered and not used is there until the wait: at b: x, the result,
// b = 3.
// CHECK: "function":"delivered_for_nobody",{{.*}}"peak_memory_bytes":12288,
func.func @delivered_for_nobody(%x: !T) -> !T {
  %f = commsched.all_reduce %x on @g reduction(sum) : !T -> !future
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %r = commsched.wait %f : !future
  return %b : !T
}

// A coalesced start allocates all that it delivers at once: 1024 + 2048 + 4096
// + 8192 bytes; with c 8192 more, next to the second result.
// CHECK: "function":"coalesced",{{.*}}"peak_memory_bytes":23552,
func.func @coalesced(%a: !u, %b: tensor<512xf32>) -> tensor<2048xf32> {
  %f = commsched.all_gather %a, %b on @g dim(0) : !u, tensor<512xf32>
      -> !commsched.future<!T, tensor<2048xf32>>
  %r:2 = commsched.wait %f : !commsched.future<!T, tensor<2048xf32>>
  %c = commsched.compute "c"(%r#0, %r#1)
      : (!T, tensor<2048xf32>) -> tensor<2048xf32>
  return %c : tensor<2048xf32>
}

// Written in place, what is delivered takes no storage of its own, and the
// buffer lives as long as the result: x and buffer; then the small c as well.
// CHECK: "function":"into",{{.*}}"peak_memory_bytes":9216,
func.func @into(%x: !T) -> !u {
  %buffer = commsched.compute "empty"() : () -> !T
  $run(%r = all_reduce %x on @g reduction(sum) into %buffer : !T into !T -> !T)
  %c = commsched.compute "c"(%r) : (!T) -> !u
  return %c : !u
}

// The buffer stays until the wait, also if the result is unused: at b x,
// buffer, b; at c x, buffer, b, c.
// CHECK: "function":"into_until_the_wait",{{.*}}"peak_memory_bytes":16384,
func.func @into_until_the_wait(%x: !T) -> !T {
  %buffer = commsched.compute "empty"() : () -> !T
  %f = commsched.all_reduce %x on @g reduction(sum) into %buffer : !T into !T
        -> !future
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %c = commsched.compute "c"(%b) : (!T) -> !T
  %r = commsched.wait %f : !future
  return %c : !T
}

// In place of what it sends: x, a; then x, a and the small c.
// CHECK: "function":"into_what_is_sent",{{.*}}"peak_memory_bytes":9216,
func.func @into_what_is_sent(%x: !T) -> !u {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  $run(%r = all_reduce %a on @g reduction(sum) into %a : !T into !T -> !T)
  %c = commsched.compute "c"(%r) : (!T) -> !u
  return %c : !u
}

// Into an argument: only x and the argument, and the result is returned.
// CHECK: "function":"into_an_argument",{{.*}}"peak_memory_bytes":8192,
func.func @into_an_argument(%x: !T, %buffer: !T {commsched.freeable}) -> !T {
  $run(%r = all_reduce %x on @g reduction(sum) into %buffer : !T into !T -> !T)
  return %r : !T
}

// The slice lies in the buffer, and the gather fills the buffer: a, b (1152
// bytes), the buffer (4608), and the tensors unpacked from it (4608).
// CHECK: "function":"bucket_in_place",{{.*}}"peak_memory_bytes":10368,
func.func @bucket_in_place(%a: tensor<16x32xbf16>, %b: tensor<8x8xbf16>)
    -> (tensor<64x32xbf16>, tensor<32x8xbf16>) {
  %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g
      : tensor<16x32xbf16>, tensor<8x8xbf16>
        -> tensor<576xbf16>, tensor<2304xbf16>
  %f = commsched.all_gather %slice on @g dim(0) into %buffer
      : tensor<576xbf16> into tensor<2304xbf16>
        -> !commsched.future<tensor<2304xbf16>>
  %gathered = commsched.wait %f : !commsched.future<tensor<2304xbf16>>
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
  %b = commsched.compute "add_"(%a) {alias = 0 : i64, mutates = array<i64: 0>}
      : (!T) -> !T
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
func.func @freed_between_two_lives(
    %p: !m {commsched.role = "unsharded_param"}, %x: !T) -> !T {
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
func.func @parameter_never_freed(
    %p: !m {commsched.role = "unsharded_param"}, %x: !T) -> !T {
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
func.func @grown_twice(%p: !m {commsched.role = "unsharded_param"}, %x: !T)
    -> !u {
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
func.func @grown_through_a_view(%p: !m {commsched.role = "unsharded_param"},
    %x: !T) -> !u {
  %v = memref.expand_shape %p [[0, 1]] output_shape [32, 32]
      : !m into memref<32x32xf32>
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
func.func @parameter_from_the_start(%p: !m {commsched.role = "unsharded_param"},
    %x: !T) -> !u {
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

// The values that a region captures are used by the operation that holds it:
// x, a, b, c with a captured by the last.
// CHECK: "function":"captured_by_a_region",{{.*}}"peak_memory_bytes":16384,
func.func @captured_by_a_region(%x: !T, %c: i1) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %b = commsched.compute "b"(%x) : (!T) -> !T
  %r = scf.if %c -> !T {
    %t = commsched.compute "t"(%a) : (!T) -> !T
    scf.yield %t : !T
  } else {
    scf.yield %b : !T
  }
  return %r : !T
}

// A region keeps what it captures until its operation ends, also when nothing
// else uses it; what it allocates inside counts while it runs: x, a, s, t.
// CHECK: "function":"allocated_in_a_region",{{.*}}"peak_memory_bytes":28672,
func.func @allocated_in_a_region(%x: !T, %c: i1) -> !T {
  %a = commsched.compute "a"(%x) : (!T) -> !T
  %r = scf.if %c -> !T {
    %s = commsched.compute "s"(%a) : (!T) -> tensor<4096xf32>
    %t = commsched.compute "t"(%s) : (tensor<4096xf32>) -> !T
    scf.yield %t : !T
  } else {
    scf.yield %x : !T
  }
  %b = commsched.compute "b"(%r) : (!T) -> !T
  return %b : !T
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

// It copies an argument that nobody lets go, and not one that may be freed: x,
// y, r, w; y and s have one storage, and t is there when w is copied to r.
// CHECK: "function":"loop_over_arguments",{{.*}}"peak_memory_bytes":16384,
func.func @loop_over_arguments(%x: !T, %y: !T {commsched.freeable}, %n: index)
    -> (!T, !T) {
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
func.func @updates_take_over(%x: !T {commsched.freeable}, %u: !v, %i: !w)
    -> (!T, !T, !T) {
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
    scf.yield %t : !T
  }
  return %r : !T
}
