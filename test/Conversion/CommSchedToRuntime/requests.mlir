// RUN: %rows %s | commsched-opt --test-convert-commsched-to-requests | FileCheck %s

// What collectives become, beside what programs compute, which run.test of
// ShardToCommSched and Runtime/experts.mlir compare. Where parts along a dimension
// other than the first are cut or joined, copies make them contiguous.

commsched.group @g size(4)
commsched.group @ep size(2)

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

// A list beside values stays one; equal parts become one.
// CHECK-LABEL: func.func @split_values_and_lists
// CHECK: %[[SENT:.*]], %{{.*}} = commsched_rt.read_splits ins
// CHECK: commsched_rt.start {{.*}} outs(%{{.*}}, %{{.*}} : tensor<7x4xf32>, tensor<7xi8>) send_rows(%[[SENT]], %c10
// CHECK-SAME: output_splits = [array<i64: 12, 16>, array<i64: 3, 4>], received = array<i64: 28, 7>, row = array<i64: 4, 1>
// CHECK-SAME: sent = array<i64: 0, 0>
// CHECK: commsched_rt.start "all_to_all" "into_equal"
// CHECK-SAME: outs(%{{.*}} : tensor<6x4xf32>) send_rows{{.*}}output_splits = [array<i64: 12, 12>]
func.func @split_values_and_lists(%x: tensor<10x4xf32>, %y: tensor<10xi8>,
                                  %s: tensor<2xi64>, %into: tensor<6x4xf32>) {
  %f = commsched.all_to_all %x, %y on @ep split_dim(0) concat_dim(0)
      input_splits(%s : tensor<2xi64>) output_splits([3, 4]) : tensor<10x4xf32>,
      tensor<10xi8> -> !commsched.future<tensor<7x4xf32>, tensor<7xi8>>
  %v0:2 = commsched.wait %f : !commsched.future<tensor<7x4xf32>, tensor<7xi8>>
  $run(%v1 = all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s
      : tensor<2xi64>) into %into {commsched.name = "into_equal"} : tensor<10x4xf32> into tensor<6x4xf32> -> tensor<6x4xf32>)
  return
}
