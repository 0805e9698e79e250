// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-bucket-all-gather \
// RUN:   --commsched-bucket-reduce-scatter --commsched-bucket-all-reduce | %orders | FileCheck %s
// RUN: commsched-opt %t.mlir --commsched-bucket=kinds=all-gather,reduce-scatter,all-reduce \
// RUN:   | %orders | FileCheck %s
// RUN: commsched-opt %t.mlir --commsched-bucket | %orders | FileCheck %s

// Each pass merges collectives of its kind, and leaves the other ones alone.

!shard = tensor<4xf32>
!whole = tensor<8xf32>

// Copies cost nothing, so that they do not make hidden collectives dearer.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.kernel_launch_ns" = 0,
    "commsched.memory_gb_s" = 1.0e9 : f64>>} {

commsched.group @g size(2)

// Together they are there before two long products end, as each was before one.
// CHECK-LABEL: func.func @hidden_all_reduces(
// CHECK-SAME: %[[A:.+]]: tensor<8xf32>, %[[B:.+]]: tensor<8xf32>,
// CHECK-NEXT: // order: tensor.concat
// CHECK-NEXT: %[[CONCAT:.+]] = tensor.concat dim(0) %[[A]], %[[B]]
// CHECK-NEXT: %[[F:.+]] = commsched.all_reduce %[[CONCAT]]
// CHECK-NEXT: "mm1"
// CHECK-NEXT: "mm2"
// CHECK-NEXT: %[[W:.+]] = commsched.wait %[[F]]
// CHECK-NEXT: %[[WA:.+]] = tensor.extract_slice %[[W]][0] [8] [1]
// CHECK-NEXT: %[[WB:.+]] = tensor.extract_slice %[[W]][8] [8] [1]
// CHECK-NEXT: return %[[WA]], %[[WB]]
func.func @hidden_all_reduces(%a: !whole, %b: !whole, %x: !whole) -> (!whole, !whole, !whole, !whole) {
  $run(%w1 = all_reduce %a on @g reduction(sum) {commsched.runtime_ns = 1000000} : !whole -> !whole)
  $run(%w2 = all_reduce %b on @g reduction(sum) {commsched.runtime_ns = 1000000} : !whole -> !whole)
  %m1 = commsched.compute "mm1"(%x) {flops = 1.0e9 : f64, commsched.runtime_ns = 1000000} : (!whole) -> !whole
  %m2 = commsched.compute "mm2"(%m1) {flops = 1.0e9 : f64, commsched.runtime_ns = 1000000} : (!whole) -> !whole
  return %w1, %w2, %m1, %m2 : !whole, !whole, !whole, !whole
}

// Three of each, each waited for before the next one starts. What they send is
// made next to them.
// CHECK-LABEL: func.func @three_of_each(
// CHECK-NEXT: // order: add add add all_gather_copy_in all_gather add add add chunk_cat reduce_scatter add add add tensor.concat all_reduce wait split_with_sizes_copy wait {{(tensor.extract_slice )+}}wait {{(tensor.extract_slice )+}}sum{{$}}
func.func @three_of_each(%x: !shard, %y: !whole) -> !whole {
  %a1 = commsched.compute "add"(%x) : (!shard) -> !shard
  $run(%wa1 = all_gather %a1 on @g dim(0) : !shard -> !whole)
  %a2 = commsched.compute "add"(%x) : (!shard) -> !shard
  $run(%wa2 = all_gather %a2 on @g dim(0) : !shard -> !whole)
  %a3 = commsched.compute "add"(%x) : (!shard) -> !shard
  $run(%wa3 = all_gather %a3 on @g dim(0) : !shard -> !whole)
  %s1 = commsched.compute "add"(%y) : (!whole) -> !whole
  $run(%ws1 = reduce_scatter %s1 on @g reduction(avg) dim(0) : !whole -> !shard)
  %s2 = commsched.compute "add"(%y) : (!whole) -> !whole
  $run(%ws2 = reduce_scatter %s2 on @g reduction(avg) dim(0) : !whole -> !shard)
  %s3 = commsched.compute "add"(%y) : (!whole) -> !whole
  $run(%ws3 = reduce_scatter %s3 on @g reduction(avg) dim(0) : !whole -> !shard)
  %r1 = commsched.compute "add"(%y) : (!whole) -> !whole
  $run(%wr1 = all_reduce %r1 on @g reduction(max) : !whole -> !whole)
  %r2 = commsched.compute "add"(%y) : (!whole) -> !whole
  $run(%wr2 = all_reduce %r2 on @g reduction(max) : !whole -> !whole)
  %r3 = commsched.compute "add"(%y) : (!whole) -> !whole
  $run(%wr3 = all_reduce %r3 on @g reduction(max) : !whole -> !whole)
  %sum = commsched.compute "sum"(%wa1, %wa2, %wa3, %ws1, %ws2, %ws3, %wr1, %wr2, %wr3)
      : (!whole, !whole, !whole, !shard, !shard, !shard, !whole, !whole, !whole) -> !whole
  return %sum : !whole
}
}
