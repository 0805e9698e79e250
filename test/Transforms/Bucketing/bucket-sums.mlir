// DEFINE: %{merge} = %rows %s | commsched-opt --commsched-bucket-reduce-scatter=

// RUN: %{merge}sum-first > %t
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t --commsched-bucket-reduce-scatter=sum-first | diff %t -
// RUN: %{merge} | FileCheck %s --check-prefix=ALL

// Two gradients of one parameter are added before they are reduced, and buckets
// are made of what is left.

!whole = tensor<8xf32>
!shard = tensor<4xf32>

commsched.group @g size(2)

// CHECK-LABEL: func.func @used_twice(
// CHECK-SAME: %[[A:.+]]: tensor<8xf32>, %[[B:.+]]: tensor<8xf32>, %[[C:.+]]: tensor<8xf32>)
// CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[A]], %[[B]] : tensor<8xf32>
// CHECK-NEXT: commsched.chunk_cat %[[SUM]], %[[C]]
// CHECK-NEXT: commsched.reduce_scatter {{.*}} "a+b+c"
// CHECK-NOT: arith.addf
// CHECK: return
// ALL-LABEL: func.func @used_twice(
// ALL: commsched.chunk_cat %arg0, %arg1, %arg2
// ALL: commsched.reduce_scatter {{.*}} "a+b+c"
// ALL: arith.addf {{.*}} : tensor<4xf32>
func.func @used_twice(%a: !whole, %b: !whole, %c: !whole) -> (!shard, !shard) {
  $run(%wa = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "a"} : !whole -> !shard)
  $run(%wb = reduce_scatter %b on @g reduction(avg) dim(0) {commsched.name = "b"} : !whole -> !shard)
  $run(%wc = reduce_scatter %c on @g reduction(avg) dim(0) {commsched.name = "c"} : !whole -> !shard)
  %sum = arith.addf %wa, %wb : !shard
  return %sum, %wc : !shard, !shard
}
