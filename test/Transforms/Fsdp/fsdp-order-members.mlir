// What stands with a collective and its wait, and what does not.

// RUN: %rows %s | commsched-opt --commsched-enforce-fsdp-order > %t
// RUN: %orders < %t | FileCheck %s
// RUN: commsched-opt %t --commsched-enforce-fsdp-order | diff - %t

LET $view(N = F X : T) %N = commsched.compute "F"(X) {alias = 0 : i64} : T
LET $copy_in(S, B = X : T) %S, %B = commsched.all_gather_copy_in X on @dp {commsched.name = "copy_in"} : T
LET $gather(G into B = S : T into U)
  %G = commsched.all_gather %S on @dp dim(0) into %B {commsched.name = "G"} : T into U -> !commsched.future<U>
LET $wait(W = G : U) %W = commsched.wait %G {commsched.name = "W"} : !commsched.future<U>
LET $gathered(K from P : T)
  %s.K, %b.K = commsched.all_gather_copy_in %P on @dp {commsched.name = "copy_in.K"} : T -> !part, !whole
  $gather(gather.K into b.K = s.K : !part into !whole)
  $wait(wait.K = gather.K : !whole)

!part = tensor<4xbf16>
!whole = tensor<8xbf16>
!t = tensor<4xf32>
!u = tensor<2xf32>
!v = tensor<8xf32>
!w = tensor<3xbf16>
commsched.group @dp size(2)

// Cast, pad and view of the shard come down to the copy-in, and the gather and a
// view between the two come up. A cast that something else needs stays, and so
// does what makes a shard out of two tensors.
// CHECK-LABEL: func.func @start_of_a_gather(
// CHECK-NEXT: // order: needed sum other cast tensor.empty tensor.insert_slice view copy_in slice gather between wait{{$}}
func.func @start_of_a_gather(%p: tensor<3xf32>, %q: !t) -> (tensor<24xbf16>, !part, !part) {
  %cast = commsched.compute "cast"(%p) : (tensor<3xf32>) -> !w
  %before = commsched.compute "needed"(%q) : (!t) -> !part
  %empty = tensor.empty() : !part
  %padded = tensor.insert_slice %cast into %empty[0] [3] [1] : !w into !part
  %sum = commsched.compute "sum"(%q, %before) : (!t, !part) -> !part
  $view(view = view %padded : (!part) -> tensor<2x2xbf16>)
  %other = commsched.compute "other"(%before) : (!part) -> !part
  $copy_in(slice, buffer = %view, %before, %sum : tensor<2x2xbf16>, !part, !part -> tensor<12xbf16>, tensor<24xbf16>)
  %between = commsched.compute "between"(%before) : (!part) -> !part
  $view(sent = slice %slice : (tensor<12xbf16>) -> tensor<12xbf16>)
  $gather(gather into buffer = sent : tensor<12xbf16> into tensor<24xbf16>)
  $wait(wait = gather : tensor<24xbf16>)
  return %wait, %other, %between : tensor<24xbf16>, !part, !part
}

// Nor does a shard come down that is written in place before the copy-in, nor
// what it is made of.
// CHECK-LABEL: func.func @written_before_the_copy_in(
// CHECK-NEXT: // order: tensor.empty cast tensor.insert_slice fill other copy_in gather wait{{$}}
func.func @written_before_the_copy_in(%p: tensor<3xf32>, %x: !whole)
    -> (tensor<14xbf16>, !part, !whole) {
  %empty = tensor.empty() : !part
  %cast = commsched.compute "cast"(%p) : (tensor<3xf32>) -> !w
  %padded = tensor.insert_slice %cast into %empty[0] [3] [1] : !w into !part
  %fill = commsched.compute "fill"(%empty) {alias = 0 : i64, mutates = array<i64: 0>} : (!part) -> !part
  %other = commsched.compute "other"(%x) : (!whole) -> !whole
  $copy_in(slice, buffer = %cast, %padded : !w, !part -> tensor<7xbf16>, tensor<14xbf16>)
  $gather(gather into buffer = slice : tensor<7xbf16> into tensor<14xbf16>)
  $wait(wait = gather : tensor<14xbf16>)
  return %wait, %fill, %other : tensor<14xbf16>, !part, !whole
}

// What two gathers are made of comes down to the first, whatever the second
// makes of it before.
// CHECK-LABEL: func.func @made_of_one_cast(
// CHECK-NEXT: // order: other cast copy_in.1 gather.1 wait.1 flatten copy_in.2 gather.2 wait.2{{$}}
func.func @made_of_one_cast(%p: tensor<2x2xf32>, %x: !whole) -> (!whole, !whole, !whole) {
  %cast = commsched.compute "cast"(%p) : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  %flat = commsched.compute "flatten"(%cast) : (tensor<2x2xbf16>) -> !part
  %other = commsched.compute "other"(%x) : (!whole) -> !whole
  $gathered(1 from cast : tensor<2x2xbf16>)
  $gathered(2 from flat : !part)
  return %wait.1, %wait.2, %other : !whole, !whole, !whole
}

// What the second gather gathers is a view of what the first one gave. It comes
// down to the second; the constant that it needs as well stays.
// CHECK-LABEL: func.func @view_of_a_parameter(
// CHECK-NEXT: // order: copy_in.1 gather.1 wait.1 copy_out1 arith.constant layer1 reshard copy_in.2 gather.2 wait.2{{$}}
func.func @view_of_a_parameter(%p: !part, %x: !whole) -> (!whole, !whole) {
  $gathered(1 from p : !part)
  %f1 = commsched.split_with_sizes_copy %wait.1 on @dp {commsched.name = "copy_out1"} : !whole -> !whole
  %zero = arith.constant dense<0.0> : tensor<1xbf16>
  $view(r = reshard %f1, %zero : (!whole, tensor<1xbf16>) -> !part)
  %y = commsched.compute "layer1"(%x, %f1) : (!whole, !whole) -> !whole
  $gathered(2 from r : !part)
  return %wait.2, %y : !whole, !whole
}

// A view between wait and copy-out, and the copy into the parameter's storage,
// come up to the wait. Views with other users stay.
// CHECK-LABEL: func.func @wait_for_a_gather(
// CHECK-NEXT: // order: copy_in gather resize_storage wait view copy_out fsdp_copy between other_view transposed user{{$}}
func.func @wait_for_a_gather(%p: !part, %x: !whole,
    %storage: memref<4xbf16> {commsched.role = "unsharded_param"}) -> !part {
  $copy_in(slice, buffer = %p : !part -> !part, !whole)
  $gather(gather into buffer = slice : !part into !whole)
  commsched.resize_storage %storage bytes(8) : memref<4xbf16>
  $wait(wait = gather : !whole)
  %between = commsched.compute "between"(%x) : (!whole) -> !whole
  $view(view = view %wait : (!whole) -> !whole)
  $view(other = other_view %wait : (!whole) -> !whole)
  %out:2 = commsched.split_with_sizes_copy %view on @dp {commsched.name = "copy_out"} : !whole -> !part, !part
  $view(transposed = transposed %out#1 : (!part) -> !part)
  commsched.fsdp_copy %out#0 into %storage : !part, memref<4xbf16>
  %user = commsched.compute "user"(%between, %transposed, %other) : (!whole, !part, !whole) -> !part
  return %user : !part
}

// The reduce-scatter comes up to its copy-in, but the cast of a gradient is
// computation. Casts and views of what is left of the gradients come up to the
// wait; what else they are added to, and an expensive operation, stay.
// CHECK-LABEL: func.func @reduce_scatter(
// CHECK-NEXT: // order: widen before chunk_cat scatter between wait first second cast after product accumulate{{$}}
func.func @reduce_scatter(%g: !part, %h: !t, %old: !u) -> (tensor<2xbf16>, !u, !t, !t, !t, !u) {
  %widen = commsched.compute "widen"(%g) : (!part) -> !t
  %before = commsched.compute "before"(%h) : (!t) -> !t
  %packed = commsched.chunk_cat %widen, %h on @dp {commsched.name = "chunk_cat"} : !t, !t -> !v
  %between = commsched.compute "between"(%h) : (!t) -> !t
  %scatter = commsched.reduce_scatter %packed on @dp reduction(avg) dim(0) {commsched.name = "scatter"} : !v -> !commsched.future<!t>
  $wait(wait = scatter : !t)
  %after = commsched.compute "after"(%h) : (!t) -> !t
  $view(first = first %wait : (!t) -> !u)
  $view(second = second %wait : (!t) -> !u)
  %product = commsched.compute "product"(%wait) {flops = 1.0e6} : (!t) -> !u
  %accumulate = commsched.compute "accumulate"(%old, %second) : (!u, !u) -> !u
  %cast = commsched.compute "cast"(%first) : (!u) -> tensor<2xbf16>
  return %cast, %accumulate, %before, %between, %after, %product
      : tensor<2xbf16>, !u, !t, !t, !t, !u
}

// What one reduce-scatter leaves may be packed for another.
// CHECK-LABEL: func.func @two_reduce_scatters(
// CHECK-NEXT: // order: chunk_cat1 scatter1 wait1 between1 chunk_cat2 scatter2 between2 wait2{{$}}
func.func @two_reduce_scatters(%g: !v) -> (!u, !v, !v) {
  %c1 = commsched.chunk_cat %g on @dp {commsched.name = "chunk_cat1"} : !v -> !v
  %r1 = commsched.reduce_scatter %c1 on @dp reduction(avg) dim(0) {commsched.name = "scatter1"} : !v -> !commsched.future<!t>
  %w1 = commsched.wait %r1 {commsched.name = "wait1"} : !commsched.future<!t>
  %b1 = commsched.compute "between1"(%g) : (!v) -> !v
  %c2 = commsched.chunk_cat %w1 on @dp {commsched.name = "chunk_cat2"} : !t -> !t
  %b2 = commsched.compute "between2"(%g) : (!v) -> !v
  %r2 = commsched.reduce_scatter %c2 on @dp reduction(avg) dim(0) {commsched.name = "scatter2"} : !t -> !commsched.future<!u>
  %w2 = commsched.wait %r2 {commsched.name = "wait2"} : !commsched.future<!u>
  return %w2, %b1, %b2 : !u, !v, !v
}

// A copy-in is for the first of two gathers, and for none in another block.
// CHECK-LABEL: func.func @shared_copy_in(
// CHECK-NEXT: // order: copy_in gather1 between outside scf.if { inside wait } gather2 wait wait{{$}}
func.func @shared_copy_in(%p: !t, %condition: i1) -> (!v, !v, !t) {
  $copy_in(slice, buffer = %p : !t -> !t, !v)
  %between = commsched.compute "between"(%p) : (!t) -> !t
  %g1 = commsched.all_gather %slice on @dp dim(0) {commsched.name = "gather1"} : !t -> !commsched.future<!v>
  %outside, %buffer2 = commsched.all_gather_copy_in %p on @dp {commsched.name = "outside"} : !t -> !t, !v
  scf.if %condition {
    $run(%w = all_gather %outside on @dp dim(0) {commsched.name = "inside"}
        : !t -> !v)
  }
  %g2 = commsched.all_gather %slice on @dp dim(0) {commsched.name = "gather2"} : !t -> !commsched.future<!v>
  %w1 = commsched.wait %g1 : !commsched.future<!v>
  %w2 = commsched.wait %g2 : !commsched.future<!v>
  return %w1, %w2, %between : !v, !v, !t
}

// Without a copy of its own, a collective stays.
// CHECK-LABEL: func.func @other_collectives(
// CHECK-NEXT: // order: copy_in between coalesced cast again gather scatter wait_gather last wait_coalesced wait_scatter{{$}}
func.func @other_collectives(%p: !t, %q: !part) -> (!whole, !whole, !whole, !u, !part, !part) {
  $copy_in(slice, buffer = %q : !part -> !part, !whole)
  %between = commsched.compute "between"(%q) : (!part) -> !part
  %coalesced = commsched.all_gather %slice, %q on @dp dim(0) {commsched.name = "coalesced"} : !part, !part -> !commsched.future<!whole, !whole>
  %cast = commsched.compute "cast"(%p) : (!t) -> !part
  %again = commsched.compute "again"(%q) : (!part) -> !part
  %gather = commsched.all_gather %cast on @dp dim(0) {commsched.name = "gather"} : !part -> !commsched.future<!whole>
  %scatter = commsched.reduce_scatter %p on @dp reduction(sum) dim(0) {commsched.name = "scatter"} : !t -> !commsched.future<!u>
  $wait(wait_gather = gather : !whole)
  %last = commsched.compute "last"(%q) : (!part) -> !whole
  %wait:2 = commsched.wait %coalesced {commsched.name = "wait_coalesced"} : !commsched.future<!whole, !whole>
  $wait(wait_scatter = scatter : !u)
  return %wait_gather, %wait#1, %last, %wait_scatter, %between, %again
      : !whole, !whole, !whole, !u, !part, !part
}
