// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-reinplace-all-gather \
// RUN:   --commsched-remove-unsharded-param-usage -o %t
// RUN: %orders < %t | FileCheck %s
// RUN: %prints commsched-opt %t.mlir --commsched-report=format=json -o /dev/null \
// RUN:   '"function":"three_groups"{{.*}}"step_time_ns":570,{{.*}}"peak_memory_bytes":512,'
// RUN: %prints commsched-opt %t --commsched-report=format=json -o /dev/null \
// RUN:   '"function":"three_groups"{{.*}}"step_time_ns":558,{{.*}}"peak_memory_bytes":384,'
// RUN: commsched-opt %t --commsched-remove-unsharded-param-usage \
// RUN:   --commsched-reinplace-all-gather -o %t.again
// RUN: diff %t %t.again

// The forward of a model with fully sharded parameters, as it is traced before
// any optimization. Afterwards every group of parameters is gathered in place,
// and layers compute with what the copy-out yields.

LET $layer(K behind BEFORE)
  commsched.resize_storage %p.K bytes(64) : !storage
  %slice.K, %buffer.K = commsched.all_gather_copy_in %shard.K on @dp
      {commsched.runtime_ns = 2} : !part -> !part, !whole
  $run(%gathered.K = all_gather %slice.K on @dp dim(0) {commsched.runtime_ns = 100} : !part -> !whole)
  %full.K:1 = commsched.split_with_sizes_copy %gathered.K on @dp
      {commsched.runtime_ns = 4} : !whole -> !whole
  commsched.fsdp_copy %full.K#0 into %p.K {commsched.runtime_ns = 3} : !whole, !storage
  %w.K = bufferization.to_tensor %p.K : !storage to !whole
  %y.K = commsched.compute "layer.K"(%y.BEFORE, %w.K) {commsched.runtime_ns = 80}
      : (!whole, !whole) -> !whole
  commsched.resize_storage %p.K bytes(0) : !storage

!part = tensor<4xf32>
!whole = tensor<16xf32>
!storage = memref<16xf32>
!future = !commsched.future<!whole>
commsched.group @dp size(4)

// The step loses the 4 copies of 3 ns, and the peak, at the first copy-out, the
// parameters of the first group: 512 - 2 * 64.
// CHECK-LABEL: func.func @three_groups(
// CHECK-NEXT: // order: all_gather_copy_in all_gather wait split_with_sizes_copy layer0 all_gather_copy_in all_gather wait split_with_sizes_copy layer.1 all_gather_copy_in all_gather wait split_with_sizes_copy layer.2{{$}}
// CHECK-COUNT-3: commsched.all_gather {{.*}} into %{{.+}} {
func.func @three_groups(%a: !storage {commsched.role = "unsharded_param"},
    %b: !storage {commsched.role = "unsharded_param"},
    %p.1: !storage {commsched.role = "unsharded_param"},
    %p.2: !storage {commsched.role = "unsharded_param"},
    %a_shard: !part, %b_shard: !part,
    %shard.1: !part, %shard.2: !part, %x: !whole) -> !whole {
  commsched.resize_storage %a bytes(64) : !storage
  commsched.resize_storage %b bytes(64) : !storage
  %slice0, %buffer0 = commsched.all_gather_copy_in %a_shard, %b_shard on @dp
      {commsched.runtime_ns = 2} : !part, !part -> tensor<8xf32>, tensor<32xf32>
  $run(%gathered0 = all_gather %slice0 on @dp dim(0) {commsched.runtime_ns = 100} : tensor<8xf32> -> tensor<32xf32>)
  %full0:2 = commsched.split_with_sizes_copy %gathered0 on @dp
      {commsched.runtime_ns = 4} : tensor<32xf32> -> !whole, !whole
  commsched.fsdp_copy %full0#0 into %a {commsched.runtime_ns = 3} : !whole, !storage
  commsched.fsdp_copy %full0#1 into %b {commsched.runtime_ns = 3} : !whole, !storage
  %w0_0 = bufferization.to_tensor %a : !storage to !whole
  %w0_1 = bufferization.to_tensor %b : !storage to !whole
  %y.0 = commsched.compute "layer0"(%x, %w0_0, %w0_1)
      {commsched.runtime_ns = 80} : (!whole, !whole, !whole) -> !whole
  commsched.resize_storage %a bytes(0) : !storage
  commsched.resize_storage %b bytes(0) : !storage
  $layer(1 behind 0)
  $layer(2 behind 1)
  return %y.2 : !whole
}
