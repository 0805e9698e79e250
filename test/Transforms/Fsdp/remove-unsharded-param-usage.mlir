// RUN: commsched-opt %s --commsched-remove-unsharded-param-usage %remarks -o %t 2> %t.remarks
// RUN: FileCheck %s --implicit-check-not=resize_storage \
// RUN:   --implicit-check-not=fsdp_copy --implicit-check-not=to_tensor < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: commsched-opt %t --commsched-remove-unsharded-param-usage -o %t.again
// RUN: diff %t %t.again

// What reads an unsharded parameter takes what was copied into it.

!t = tensor<4xf32>
!storage = memref<4xf32>
!u = tensor<2x2xf32>
commsched.group @dp size(4)

// The argument stays, though nothing uses it; its role says that it has no
// storage.
// REMARK: remark: [Passed] ParameterRemoved | Category:commsched | Function=once
// REMARK-SAME: Copies=1, Reads=1,
// REMARK-SAME: 'p' needs no storage: what reads it takes what was copied into it{{.*}}Resizes=2
// CHECK-LABEL: func.func @once(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<4xf32> {commsched.name = "p", commsched.role = "unsharded_param"}, %[[FULL:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[Y:.+]] = commsched.compute "y"(%[[FULL]])
// CHECK-NEXT: return %[[Y]]
func.func @once(%p: !storage {commsched.name = "p"}, %full: !t) -> !t {
  commsched.resize_storage %p bytes(16) : !storage
  commsched.fsdp_copy %full into %p : !t, !storage
  %w = bufferization.to_tensor %p : !storage to !t
  %y = commsched.compute "y"(%w) : (!t) -> !t
  commsched.resize_storage %p bytes(0) : !storage
  return %y : !t
}

// A layer that is used three times: each range has its own tensor. The second
// copy follows without the storage being freed in between; the last is read by
// nobody.
// REMARK: Function=reused_layer
// REMARK-SAME: Copies=4, Reads=4,
// REMARK-SAME: '%arg0' needs no storage
// REMARK-SAME: Resizes=4
// CHECK-LABEL: func.func @reused_layer(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4xf32>, %[[B:[a-z0-9]+]]: tensor<4xf32>, %[[C:[a-z0-9]+]]: tensor<4xf32>
// CHECK: compute "y0"(%[[A]], %[[A]])
// CHECK: compute "y1"(%{{.+}}, %[[B]])
// CHECK: compute "y2"(%{{.+}}, %[[C]])
// CHECK-NEXT: return
func.func @reused_layer(%p: !storage, %a: !t, %b: !t, %c: !t) -> !t {
  commsched.resize_storage %p bytes(16) : !storage
  commsched.fsdp_copy %a into %p : !t, !storage
  %w0 = bufferization.to_tensor %p : !storage to !t
  %w1 = bufferization.to_tensor %p : !storage to !t
  %y0 = commsched.compute "y0"(%w0, %w1) : (!t, !t) -> !t
  commsched.fsdp_copy %b into %p : !t, !storage
  %w2 = bufferization.to_tensor %p : !storage to !t
  %y1 = commsched.compute "y1"(%y0, %w2) : (!t, !t) -> !t
  commsched.resize_storage %p bytes(0) : !storage
  commsched.resize_storage %p bytes(16) : !storage
  commsched.fsdp_copy %c into %p : !t, !storage
  %w3 = bufferization.to_tensor %p : !storage to !t
  %y2 = commsched.compute "y2"(%y1, %w3) : (!t, !t) -> !t
  commsched.fsdp_copy %a into %p : !t, !storage
  commsched.resize_storage %p bytes(0) : !storage
  return %y2 : !t
}

// Views of the tensor, uses in regions and a collective that is waited for in
// time.
// CHECK-LABEL: func.func @views_and_regions(
// CHECK-SAME: %[[FULL:[a-z0-9]+]]: tensor<4xf32>,
// CHECK: tensor.expand_shape %[[FULL]]
// CHECK: commsched.all_reduce %[[FULL]]
// CHECK: scf.if
// CHECK-NEXT: compute "nested"(%[[FULL]])
func.func @views_and_regions(%p: !storage, %full: !t, %c: i1) -> (!u, !t, !t) {
  commsched.resize_storage %p bytes(16) : !storage
  commsched.fsdp_copy %full into %p : !t, !storage
  %w = bufferization.to_tensor %p : !storage to !t
  %view = tensor.expand_shape %w [[0, 1]] output_shape [2, 2] : !t into !u
  %y = commsched.compute "y"(%view) : (!u) -> !u
  %future = commsched.all_reduce %w on @dp reduction(sum) : !t -> !commsched.future<!t>
  %r = scf.if %c -> !t {
    %nested = bufferization.to_tensor %p : !storage to !t
    %z = commsched.compute "nested"(%nested) : (!t) -> !t
    scf.yield %z : !t
  } else {
    %z = commsched.compute "z"() : () -> !t
    scf.yield %z : !t
  }
  %sum = commsched.wait %future : !commsched.future<!t>
  commsched.resize_storage %p bytes(0) : !storage
  return %y, %sum, %r : !u, !t, !t
}

// Nobody uses what is read, wherever that is; nothing is ever filled.
// REMARK: Function=dead_reads
// CHECK-LABEL: func.func @dead_reads(
// CHECK-NEXT: return
func.func @dead_reads(%p: !storage) {
  %w0 = bufferization.to_tensor %p : !storage to !t
  commsched.resize_storage %p bytes(16) : !storage
  %w1 = bufferization.to_tensor %p : !storage to !t
  commsched.resize_storage %p bytes(0) : !storage
  %w2 = bufferization.to_tensor %p : !storage to !t
  return
}

// The source is written before the copy and after the last use of it.
// CHECK-LABEL: func.func @source_written_at_other_times(
// CHECK-SAME: %[[FULL:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: compute "before"
// CHECK-NEXT: compute "y"(%[[FULL]])
// CHECK-NEXT: compute "after"
func.func @source_written_at_other_times(%p: !storage, %full: !t) -> !t {
  commsched.compute "before"(%full) {mutates = array<i64: 0>} : (!t) -> ()
  commsched.resize_storage %p bytes(16) : !storage
  commsched.fsdp_copy %full into %p : !t, !storage
  %w = bufferization.to_tensor %p : !storage to !t
  %y = commsched.compute "y"(%w) : (!t) -> !t
  commsched.compute "after"(%full) {mutates = array<i64: 0>} : (!t) -> ()
  commsched.resize_storage %p bytes(0) : !storage
  return %y : !t
}

// Two parameters, and one source for both, which is in memory that they are
// taken not to be.
// REMARK: '%arg0' needs no storage
// REMARK: '%arg1' needs no storage
// CHECK-LABEL: func.func @two_parameters(
// CHECK-SAME: %[[M:[a-z0-9]+]]: memref<4xf32>)
// CHECK: %[[FULL:.+]] = bufferization.to_tensor %[[M]]
// CHECK-NEXT: compute "y"(%[[FULL]], %[[FULL]])
func.func @two_parameters(%p: !storage, %q: !storage, %m: !storage) -> !t {
  %full = bufferization.to_tensor %m : !storage to !t
  commsched.resize_storage %p bytes(16) : !storage
  commsched.fsdp_copy %full into %p : !t, !storage
  commsched.resize_storage %q bytes(16) : !storage
  commsched.fsdp_copy %full into %q : !t, !storage
  %v = bufferization.to_tensor %p : !storage to !t
  %w = bufferization.to_tensor %q : !storage to !t
  %y = commsched.compute "y"(%v, %w) : (!t, !t) -> !t
  commsched.resize_storage %q bytes(0) : !storage
  commsched.resize_storage %p bytes(0) : !storage
  return %y : !t
}

// Of two parameters one stays, with all that changes its storage.
// CHECK-LABEL: func.func @one_of_two(
// CHECK-SAME: "unsharded_param"}, %[[Q:[a-z0-9]+]]: memref<4xf32>, %[[FULL:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: commsched.resize_storage %[[Q]] bytes(16)
// CHECK-NEXT: commsched.fsdp_copy %[[FULL]] into %[[Q]]
// CHECK-NEXT: commsched.compute "y"(%[[FULL]])
// CHECK-NEXT: commsched.resize_storage %[[Q]] bytes(0)
// CHECK-NEXT: return
func.func @one_of_two(%p: !storage, %q: !storage, %full: !t) -> (!t, !storage) {
  commsched.resize_storage %p bytes(16) : !storage
  commsched.resize_storage %q bytes(16) : !storage
  commsched.fsdp_copy %full into %p : !t, !storage
  commsched.fsdp_copy %full into %q : !t, !storage
  %w = bufferization.to_tensor %p : !storage to !t
  %y = commsched.compute "y"(%w) : (!t) -> !t
  commsched.resize_storage %q bytes(0) : !storage
  commsched.resize_storage %p bytes(0) : !storage
  return %y, %q : !t, !storage
}
