// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --split-input-file --test-convert-commsched-to-requests | FileCheck %s

// What each collective becomes. Where parts along a dimension other than the
// first are cut or joined, copies make them contiguous.

commsched.group @g size(4)

// CHECK-LABEL: func.func @gather_rows
// CHECK: %[[E:.*]] = tensor.empty() : tensor<8x6xf32>
// CHECK: %[[R:.*]], %[[B:.*]] = commsched_rt.start "all_gather" "mine" on @g ins(%{{.*}} : tensor<2x6xf32>) outs(%[[E]] : tensor<8x6xf32>)
// CHECK-SAME: received = array<i64: 48>{{.*}}runtime_ns = 77{{.*}}sent = array<i64: 12>
// CHECK: %[[V:.*]] = commsched_rt.wait %[[R]] ins(%{{.*}} : tensor<2x6xf32>) outs(%[[B]] : tensor<8x6xf32>) -> tensor<8x6xf32>
// CHECK: return %[[V]]
func.func @gather_rows(%x: tensor<2x6xf32>) -> tensor<8x6xf32> {
  $run(%r = all_gather %x on @g dim(0) {commsched.name = "mine", commsched.runtime_ns = 77 : i64} : tensor<2x6xf32> -> tensor<8x6xf32>)
  return %r : tensor<8x6xf32>
}

// Rows of 6 elements of 2 bytes, four to a row of the result.
// CHECK-LABEL: func.func @gather_columns
// CHECK: commsched_rt.start "all_gather" "all_gather_0" {{.*}} outs(%{{.*}} : tensor<48xf16>)
// CHECK: %[[V:.*]] = commsched_rt.wait
// CHECK: commsched_rt.copy ins(%[[V]] : tensor<48xf16>) outs(%{{.*}} : tensor<2x24xf16>)
// CHECK-SAME: {overwrites, repeat = 4 : i64, row_elements = 12 : i64, rows = 2 : i64, source = array<i64: 0, 12, 24>, target = array<i64: 0, 48, 12>}
func.func @gather_columns(%x: tensor<2x6xf16>) -> tensor<2x24xf16> {
  $run(%r = all_gather %x on @g dim(1) : tensor<2x6xf16> -> tensor<2x24xf16>)
  return %r : tensor<2x24xf16>
}

// A first dimension of 1 is none.
// CHECK-LABEL: func.func @gather_columns_of_one_row
// CHECK-NOT: commsched_rt.copy
// CHECK: return
func.func @gather_columns_of_one_row(%x: tensor<1x6xf16>) -> tensor<1x24xf16> {
  $run(%r = all_gather %x on @g dim(1) : tensor<1x6xf16> -> tensor<1x24xf16>)
  return %r : tensor<1x24xf16>
}

// CHECK-LABEL: func.func @scatter_columns
// CHECK: %[[P:.*]] = commsched_rt.copy ins(%{{.*}} : tensor<3x8xf32>) outs(%{{.*}} : tensor<24xf32>)
// CHECK-SAME: {overwrites, repeat = 4 : i64, row_elements = 8 : i64, rows = 3 : i64, source = array<i64: 0, 32, 8>, target = array<i64: 0, 8, 24>}
// CHECK: commsched_rt.start "reduce_scatter" {{.*}} ins(%[[P]] : tensor<24xf32>) outs(%{{.*}} : tensor<3x2xf32>)
// CHECK-SAME: reduction = 1
func.func @scatter_columns(%x: tensor<3x8xf32>) -> tensor<3x2xf32> {
  $run(%r = reduce_scatter %x on @g reduction(avg) dim(1) : tensor<3x8xf32> -> tensor<3x2xf32>)
  return %r : tensor<3x2xf32>
}

// Cut along the second dimension, joined along the first.
// CHECK-LABEL: func.func @transpose_parts
// CHECK: %[[P:.*]] = commsched_rt.copy
// CHECK-SAME: source = array<i64: 0, 8, 2>, target = array<i64: 0, 2, 4>
// CHECK: commsched_rt.start "all_to_all" {{.*}} ins(%[[P]] : tensor<16xi8>) outs(%{{.*}} : tensor<8x2xi8>)
// CHECK-NOT: splits
// CHECK: %[[V:.*]] = commsched_rt.wait
// CHECK-NEXT: return %[[V]]
func.func @transpose_parts(%x: tensor<2x8xi8>) -> tensor<8x2xi8> {
  $run(%r = all_to_all %x on @g split_dim(1) concat_dim(0) : tensor<2x8xi8> -> tensor<8x2xi8>)
  return %r : tensor<8x2xi8>
}

// Uneven parts have a copy each, and splits in elements.
// CHECK-LABEL: func.func @uneven_columns
// CHECK-COUNT-4: commsched_rt.copy {{.*}}repeat = 1
// CHECK: commsched_rt.start "all_to_all"
// CHECK-SAME: input_splits = [array<i64: 2, 0, 6, 4>]
// CHECK-SAME: output_splits = [array<i64: 2, 2, 2, 2>]
// CHECK: commsched_rt.wait
// CHECK: commsched_rt.copy {{.*}}repeat = 4
func.func @uneven_columns(%x: tensor<2x6xi8>) -> tensor<2x4xi8> {
  $run(%r = all_to_all %x on @g split_dim(1) concat_dim(1) input_splits([1, 0, 3, 2]) : tensor<2x6xi8> -> tensor<2x4xi8>)
  return %r : tensor<2x4xi8>
}

// CHECK-LABEL: func.func @others
// CHECK: commsched_rt.start "broadcast" "broadcast_0" {{.*}}peer = 2
// CHECK: commsched_rt.start "permute" "permute_1"
// CHECK-SAME: pairs = dense<{{.*}}0, 1
// CHECK: commsched_rt.start "send" "send_2" on @g ins(%{{[a-z0-9]+}} : tensor<4xf32>) {peer = 1 : i64, received = array<i64: 0>, {{.*}}tag = 7
// CHECK-NEXT: commsched_rt.wait %{{.*}} ins(%{{[a-z0-9]+}} : tensor<4xf32>)
// CHECK: commsched_rt.start "recv" "recv_3" on @g outs(%{{[a-z0-9]+}} : tensor<4xf32>) {peer = 0
// CHECK: commsched_rt.wait
// CHECK: commsched_rt.barrier "barrier_4" on @g
func.func @others(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  $run(%r = broadcast %x on @g root(2) : tensor<4xf32> -> tensor<4xf32>)
  $run(%q = permute %x on @g pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>) : tensor<4xf32> -> tensor<4xf32>)
  %s = commsched.send %x on @g to(1) tag(7) : tensor<4xf32> -> !commsched.future
  commsched.wait %s : !commsched.future
  %t = commsched.recv on @g from(0) tag(7) : !commsched.future<tensor<4xf32>>
  %u = commsched.wait %t : !commsched.future<tensor<4xf32>>
  commsched.barrier on @g
  return %r, %q, %u : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// FSDP's copies. The rows of every rank hold a row of each tensor.

commsched.group @g size(4)

// CHECK-LABEL: func.func @copy_out
// CHECK: commsched_rt.copy ins(%{{.*}} : tensor<48xf32>) outs(%{{.*}} : tensor<8x4xf32>) {overwrites, {{.*}}row_elements = 32 : i64, rows = 4 : i64, source = array<i64: 0, 48, 0>, target = array<i64: 0, 32, 0>}
// CHECK: commsched_rt.copy ins(%{{.*}} : tensor<48xf32>) outs(%{{.*}} : tensor<16xf32>) {overwrites, {{.*}}row_elements = 16 : i64, rows = 4 : i64, source = array<i64: 32, 48, 0>, target = array<i64: 0, 16, 0>}
func.func @copy_out(%b: tensor<48xf32>) -> (tensor<8x4xf32>, tensor<16xf32>) {
  %r:2 = commsched.split_with_sizes_copy %b on @g
      : tensor<48xf32> -> tensor<8x4xf32>, tensor<16xf32>
  return %r#0, %r#1 : tensor<8x4xf32>, tensor<16xf32>
}

// Five rows in chunks of two: the third rank has one, the last none.
// CHECK-LABEL: func.func @chunk_cat
// CHECK: %[[Z:.*]] = commsched_rt.zero outs
// CHECK: %[[A:.*]] = commsched_rt.copy ins(%{{.*}} : tensor<5x3xbf16>) outs(%[[Z]] : tensor<28xf32>)
// CHECK-SAME: row_elements = 6 : i64, rows = 2 : i64, source = array<i64: 0, 12, 0>, source_type = bf16, target = array<i64: 0, 28, 0>, target_type = f32
// CHECK: %[[B:.*]] = commsched_rt.copy ins(%{{.*}} : tensor<5x3xbf16>) outs(%[[A]] : tensor<28xf32>)
// CHECK-SAME: row_elements = 3 : i64, rows = 1 : i64, source = array<i64: 24, 12, 0>, source_type = bf16, target = array<i64: 56, 28, 0>
// CHECK: commsched_rt.copy ins(%{{.*}} : tensor<4xbf16>) outs(%[[B]] : tensor<28xf32>)
// CHECK-SAME: row_elements = 1 : i64, rows = 4 : i64, source = array<i64: 0, 2, 0>, source_type = bf16, target = array<i64: 24, 28, 0>
func.func @chunk_cat(%a: tensor<5x3xbf16>, %b: tensor<4xbf16>) -> tensor<28xf32> {
  %r = commsched.chunk_cat %a, %b on @g : tensor<5x3xbf16>, tensor<4xbf16> -> tensor<28xf32>
  return %r : tensor<28xf32>
}

// Bytes of two types; the slice that has users is cut out again.
// CHECK-LABEL: func.func @packed
// CHECK: %[[ME:.*]] = commsched_rt.rank @g : index
// CHECK: %[[OFFSET:.*]] = arith.muli %[[ME]]
// CHECK: commsched_rt.copy ins(%{{.*}} : tensor<2xf32>) {{.*}} offset(%[[OFFSET]]) {{.*}}source_type = f32{{.*}}target_type = bf16
// CHECK: %[[B:.*]] = commsched_rt.copy ins(%{{.*}} : tensor<3xf32>) {{.*}} offset(%[[OFFSET]]) {{.*}}row_elements = 12 : i64{{.*}}target = array<i64: 4, 0, 0>
// CHECK: tensor.extract_slice %[[B]][%{{.*}}] [16] [1] : tensor<64xi8> to tensor<16xi8>
func.func @packed(%a: tensor<2xf32>, %b: tensor<3xf32>) -> (tensor<16xi8>, tensor<64xi8>) {
  %slice, %buffer = commsched.all_gather_copy_in %a, %b on @g packed([bf16, f32])
      : tensor<2xf32>, tensor<3xf32> -> tensor<16xi8>, tensor<64xi8>
  return %slice, %buffer : tensor<16xi8>, tensor<64xi8>
}

// A storage that is filled again is read before that.
// CHECK-LABEL: func.func @storage
// CHECK: %[[W:.*]] = bufferization.to_tensor %[[P:.*]] restrict
// CHECK: bufferization.alloc_tensor() copy(%[[W]])
// CHECK: bufferization.materialize_in_destination %{{.*}} in writable %[[P]]
// CHECK: bufferization.to_tensor %[[P]] restrict
// CHECK-NOT: alloc_tensor
// CHECK: return
func.func @storage(%p: memref<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  commsched.fsdp_copy %x into %p : tensor<4xf32>, memref<4xf32>
  %v = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  return %w, %v : tensor<4xf32>, tensor<4xf32>
}

// -----

// Opaque operators. A view is one of as many elements; a larger one is none.

// CHECK-LABEL: func.func @operators
// CHECK: %[[Y:.*]] = commsched_rt.compute "mm" 500 ins(%[[X:.*]], %{{.*}} : tensor<4x2xf32>, tensor<2xf32>) outs(%{{.*}} : tensor<6xf32>) -> tensor<6xf32>
// CHECK-NOT: "view"
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[X]]
// CHECK: tensor.extract_slice %[[FLAT]][0] [6] [1]
// CHECK: tensor.expand_shape
// CHECK: commsched_rt.compute "expand" 0 ins(%[[X]] : tensor<4x2xf32>) outs(%{{.*}} : tensor<16xf32>)
func.func @operators(%x: tensor<4x2xf32>, %w: tensor<2xf32>)
    -> (tensor<6xf32>, tensor<3x2xf32>, tensor<16xf32>) {
  %y = commsched.compute "mm"(%x, %w) {commsched.runtime_ns = 500 : i64}
      : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<6xf32>
  %v = commsched.compute "view"(%x) {alias = 0 : i64} : (tensor<4x2xf32>) -> tensor<3x2xf32>
  %e = commsched.compute "expand"(%x) {alias = 0 : i64} : (tensor<4x2xf32>) -> tensor<16xf32>
  return %y, %v, %e : tensor<6xf32>, tensor<3x2xf32>, tensor<16xf32>
}

// -----

// The rank is the runtime's, and takes no time.

commsched.group @dp size(2)

// CHECK-LABEL: func.func @rank
// CHECK-NEXT: %[[ME:.*]] = commsched_rt.rank @dp : index
// CHECK-NEXT: return %[[ME]]
func.func @rank() -> index {
  %me = commsched.rank on @dp : index
  return %me : index
}

// -----

// Rows that are values are read before the start. Those to receive decide how
// large a new tensor is; the operand's must be those to send.

!t = tensor<2xi64>
commsched.group @ep size(2)

// CHECK-LABEL: func.func @split_values
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<?x4xf32>{{.*}}, %[[S:[a-z0-9]+]]: tensor<2xi64>{{.*}}, %[[R:[a-z0-9]+]]: tensor<2xi64>
// CHECK: %[[SENT:.*]], %{{.*}} = commsched_rt.read_splits ins(%[[S]] : tensor<2xi64>)
// CHECK: %[[RECEIVED:.*]], %[[ROWS:.*]] = commsched_rt.read_splits output ins(%[[R]] : tensor<2xi64>)
// CHECK: %[[NEW:.*]] = tensor.empty(%[[ROWS]]) : tensor<?x4xf32>
// CHECK: %[[DIM:.*]] = tensor.dim %[[X]], %c0
// CHECK: %[[NEWDIM:.*]] = tensor.dim %[[NEW]], %c0
// CHECK: commsched_rt.start "all_to_all" "all_to_all_0" on @ep ins(%[[X]] : tensor<?x4xf32>) outs(%[[NEW]] : tensor<?x4xf32>)
// CHECK-SAME: send_rows(%[[SENT]], %[[DIM]]) receive_rows(%[[RECEIVED]], %[[NEWDIM]])
// CHECK-SAME: received = array<i64: 0>, row = array<i64: 4>, {{.*}}sent = array<i64: 0>
func.func @split_values(%x: tensor<?x4xf32>, %s: !t, %r: !t) -> tensor<?x4xf32> {
  $run(%y = all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s : !t) output_splits(%r
      : !t) {commsched.runtime_ns = 5} : tensor<?x4xf32> -> tensor<?x4xf32>)
  return %y : tensor<?x4xf32>
}

// A list beside values stays one; equal parts become one.
// CHECK-LABEL: func.func @split_values_and_lists
// CHECK: %[[SENT:.*]], %{{.*}} = commsched_rt.read_splits ins
// CHECK: commsched_rt.start {{.*}} outs(%{{.*}}, %{{.*}} : tensor<7x4xf32>, tensor<7xi8>) send_rows(%[[SENT]], %c10
// CHECK-SAME: output_splits = [array<i64: 12, 16>, array<i64: 3, 4>], received = array<i64: 28, 7>, row = array<i64: 4, 1>
// CHECK-SAME: sent = array<i64: 0, 0>
// CHECK: commsched_rt.start "all_to_all" "into_equal"
// CHECK-SAME: outs(%{{.*}} : tensor<6x4xf32>) send_rows{{.*}}output_splits = [array<i64: 12, 12>]
func.func @split_values_and_lists(%x: tensor<10x4xf32>, %y: tensor<10xi8>,
                                  %s: !t, %into: tensor<6x4xf32>) {
  %f = commsched.all_to_all %x, %y on @ep split_dim(0) concat_dim(0)
      input_splits(%s : !t) output_splits([3, 4]) : tensor<10x4xf32>,
      tensor<10xi8> -> !commsched.future<tensor<7x4xf32>, tensor<7xi8>>
  %v0:2 = commsched.wait %f : !commsched.future<tensor<7x4xf32>, tensor<7xi8>>
  $run(%v1 = all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s
      : !t) into %into {commsched.name = "into_equal"} : tensor<10x4xf32> into tensor<6x4xf32> -> tensor<6x4xf32>)
  return
}

// A transfer has no group; what it fills is a buffer in the other memory.
// CHECK-LABEL: func.func @transfers
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32>
// CHECK: %[[E:.*]] = tensor.empty() : tensor<2x6xf32, #commsched.host>
// CHECK: %[[R:.*]], %[[B:.*]] = commsched_rt.start "offload" "saved" ins(%[[X]] : tensor<2x6xf32>) outs(%[[E]] : tensor<2x6xf32, #commsched.host>)
// CHECK-SAME: received = array<i64: 12>{{.*}}sent = array<i64: 12>
// CHECK: %[[H:.*]] = commsched_rt.wait %[[R]] ins(%[[X]] : tensor<2x6xf32>) outs(%[[B]] : tensor<2x6xf32, #commsched.host>) -> tensor<2x6xf32, #commsched.host>
// CHECK: %[[E2:.*]] = tensor.empty() : tensor<2x6xf32>
// CHECK: commsched_rt.start "reload" "reload_1" ins(%[[H]] : tensor<2x6xf32, #commsched.host>) outs(%[[E2]] : tensor<2x6xf32>)
func.func @transfers(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  $run(%h = offload %x {commsched.name = "saved"} : tensor<2x6xf32> -> tensor<2x6xf32, #commsched.host>)
  $run(%r = reload %h : tensor<2x6xf32, #commsched.host> -> tensor<2x6xf32>)
  return %r : tensor<2x6xf32>
}
