// RUN: commsched-opt %s --commsched-reinplace-all-gather \
// RUN:   --commsched-remove-unsharded-param-usage -o %t
// RUN: FileCheck %s --implicit-check-not=resize_storage \
// RUN:   --implicit-check-not=fsdp_copy --implicit-check-not=to_tensor < %t
// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// RUN: commsched-opt %t --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=AFTER
// RUN: commsched-opt %t --commsched-remove-unsharded-param-usage \
// RUN:   --commsched-reinplace-all-gather -o %t.again
// RUN: diff %t %t.again

// The forward of a model with fully sharded parameters, as it is traced before
// any optimization. Afterwards every group of parameters is gathered in place,
// and layers compute with what the copy-out yields.

!part = tensor<4xf32>
!whole = tensor<16xf32>
!storage = memref<16xf32>
!future = !commsched.future<!whole>
commsched.group @dp size(4)

// The step loses the 4 copies of 3 ns, and the peak, at the first copy-out, the
// parameters of the first group: 512 - 2 * 64.
// BEFORE: "function":"three_groups"
// BEFORE-SAME: "step_time_ns":570,
// BEFORE-SAME: "peak_memory_bytes":512,
// AFTER: "function":"three_groups"
// AFTER-SAME: "step_time_ns":558,
// AFTER-SAME: "peak_memory_bytes":384,
// CHECK-LABEL: func.func @three_groups(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<16xf32>)
// CHECK: all_gather_copy_in
// CHECK-NEXT: commsched.all_gather {{.*}} into %{{.+}} {
// CHECK-NEXT: %[[GATHERED0:.+]] = commsched.wait
// CHECK-NEXT: %[[FULL0:.+]]:2 = commsched.split_with_sizes_copy %[[GATHERED0]]
// CHECK-NEXT: %[[Y0:.+]] = commsched.compute "layer0"(%[[X]], %[[FULL0]]#0, %[[FULL0]]#1)
// CHECK-NEXT: all_gather_copy_in
// CHECK-NEXT: commsched.all_gather {{.*}} into %{{.+}} {
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: %[[FULL1:.+]] = commsched.split_with_sizes_copy
// CHECK-NEXT: %[[Y1:.+]] = commsched.compute "layer1"(%[[Y0]], %[[FULL1]])
// CHECK-NEXT: all_gather_copy_in
// CHECK-NEXT: commsched.all_gather {{.*}} into %{{.+}} {
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: %[[FULL2:.+]] = commsched.split_with_sizes_copy
// CHECK-NEXT: %[[Y2:.+]] = commsched.compute "layer2"(%[[Y1]], %[[FULL2]])
// CHECK-NEXT: return %[[Y2]]
func.func @three_groups(%a: !storage {commsched.role = "unsharded_param"},
    %b: !storage {commsched.role = "unsharded_param"},
    %c: !storage {commsched.role = "unsharded_param"},
    %d: !storage {commsched.role = "unsharded_param"},
    %a_shard: !part, %b_shard: !part,
    %c_shard: !part, %d_shard: !part, %x: !whole) -> !whole {
  commsched.resize_storage %a bytes(64) : !storage
  commsched.resize_storage %b bytes(64) : !storage
  %slice0, %buffer0 = commsched.all_gather_copy_in %a_shard, %b_shard on @dp
      {commsched.runtime_ns = 2} : !part, !part -> tensor<8xf32>, tensor<32xf32>
  %future0 = commsched.all_gather %slice0 on @dp dim(0)
      {commsched.runtime_ns = 100}
      : tensor<8xf32> -> !commsched.future<tensor<32xf32>>
  %gathered0 = commsched.wait %future0
      : !commsched.future<tensor<32xf32>>
  %full0:2 = commsched.split_with_sizes_copy %gathered0 on @dp
      {commsched.runtime_ns = 4} : tensor<32xf32> -> !whole, !whole
  commsched.fsdp_copy %full0#0 into %a {commsched.runtime_ns = 3}
      : !whole, !storage
  commsched.fsdp_copy %full0#1 into %b {commsched.runtime_ns = 3}
      : !whole, !storage
  %w0_0 = bufferization.to_tensor %a : !storage to !whole
  %w0_1 = bufferization.to_tensor %b : !storage to !whole
  %y0 = commsched.compute "layer0"(%x, %w0_0, %w0_1)
      {commsched.runtime_ns = 80} : (!whole, !whole, !whole) -> !whole
  commsched.resize_storage %a bytes(0) : !storage
  commsched.resize_storage %b bytes(0) : !storage
  commsched.resize_storage %c bytes(64) : !storage
  %slice1, %buffer1 = commsched.all_gather_copy_in %c_shard on @dp
      {commsched.runtime_ns = 2} : !part -> !part, !whole
  %future1 = commsched.all_gather %slice1 on @dp dim(0)
      {commsched.runtime_ns = 100} : !part -> !future
  %gathered1 = commsched.wait %future1 : !future
  %full1:1 = commsched.split_with_sizes_copy %gathered1 on @dp
      {commsched.runtime_ns = 4} : !whole -> !whole
  commsched.fsdp_copy %full1#0 into %c {commsched.runtime_ns = 3}
      : !whole, !storage
  %w1 = bufferization.to_tensor %c : !storage to !whole
  %y1 = commsched.compute "layer1"(%y0, %w1) {commsched.runtime_ns = 80}
      : (!whole, !whole) -> !whole
  commsched.resize_storage %c bytes(0) : !storage
  commsched.resize_storage %d bytes(64) : !storage
  %slice2, %buffer2 = commsched.all_gather_copy_in %d_shard on @dp
      {commsched.runtime_ns = 2} : !part -> !part, !whole
  %future2 = commsched.all_gather %slice2 on @dp dim(0)
      {commsched.runtime_ns = 100} : !part -> !future
  %gathered2 = commsched.wait %future2 : !future
  %full2:1 = commsched.split_with_sizes_copy %gathered2 on @dp
      {commsched.runtime_ns = 4} : !whole -> !whole
  commsched.fsdp_copy %full2#0 into %d {commsched.runtime_ns = 3}
      : !whole, !storage
  %w2 = bufferization.to_tensor %d : !storage to !whole
  %y2 = commsched.compute "layer2"(%y1, %w2) {commsched.runtime_ns = 80}
      : (!whole, !whole) -> !whole
  commsched.resize_storage %d bytes(0) : !storage
  return %y2 : !whole
}
