// DEFINE: %{merge} = %rows %s | commsched-opt --commsched-bucket-all-gather=fsdp-only \
// DEFINE:   --commsched-bucket-reduce-scatter=fsdp-only --commsched-bucket-all-reduce=fsdp-only
// RUN: %{merge} | FileCheck %s
// RUN: %{merge} %remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Only what belongs to sharded parameters is merged, and nothing else along with
// it.

!shard = tensor<4xf32>
!whole = tensor<8xf32>

commsched.group @dp size(2)
commsched.group @tp size(2)

// Gathers of parameters, also through views and casts.
// CHECK-LABEL: func.func @all_gathers(
// CHECK: commsched.all_gather {{.*}} "x"
// CHECK: commsched.all_gather {{.*}} "p+q"
// CHECK: commsched.all_gather {{.*}} "y"
// CHECK-NOT: commsched.all_gather %
// REMARK: Function=all_gathers | {{.*}}: commsched.all_gather 'p', commsched.all_gather 'q'
// REMARK: Function=all_gathers | {{.*}}'x' stays alone: it is not part of fully sharded data parallelism
// REMARK: Function=all_gathers | {{.*}}'y' stays alone: it is not part of fully sharded data parallelism
func.func @all_gathers(%p: !shard {commsched.role = "parameter"}, %q: tensor<2x2xf64> {commsched.role = "parameter"}, %x: !shard {commsched.role = "input"}) -> (!whole, !whole, !whole, !whole) {
  $run(%wx = all_gather %x on @dp dim(0) {commsched.name = "x"} : !shard -> !whole)
  $run(%wp = all_gather %p on @dp dim(0) {commsched.name = "p"} : !shard -> !whole)
  %flat = tensor.collapse_shape %q [[0, 1]] : tensor<2x2xf64> into tensor<4xf64>
  %cast = arith.truncf %flat : tensor<4xf64> to !shard
  $run(%wq = all_gather %cast on @dp dim(0) {commsched.name = "q"} : !shard -> !whole)
  %sum = arith.addf %p, %x : !shard
  $run(%wy = all_gather %sum on @dp dim(0) {commsched.name = "y"} : !shard -> !whole)
  return %wx, %wp, %wq, %wy : !whole, !whole, !whole, !whole
}

// Reduce-scatters of what is returned as a gradient, not of what others need.
// CHECK-LABEL: func.func @reduce_scatters(
// CHECK: commsched.reduce_scatter {{.*}} "a+c"
// CHECK: commsched.reduce_scatter {{.*}} "b"
// CHECK-NOT: commsched.reduce_scatter
// REMARK: Function=reduce_scatters | {{.*}}'b' stays alone: it is not part of fully sharded data parallelism
func.func @reduce_scatters(%x: !whole, %y: !shard) -> (!shard, !shard, !shard) {
  $run(%wa = reduce_scatter %x on @dp reduction(avg) dim(0) {commsched.name = "a"} : !whole -> !shard)
  $run(%wb = reduce_scatter %x on @dp reduction(avg) dim(0) {commsched.name = "b"} : !whole -> !shard)
  $run(%wc = reduce_scatter %x on @dp reduction(avg) dim(0) {commsched.name = "c"} : !whole -> !shard)
  %sum = arith.addf %wb, %y : !shard
  return %wa, %sum, %wc : !shard, !shard, !shard
}

// All-reduces on the group that parameters are gathered on.
// CHECK-LABEL: func.func @all_reduces(
// CHECK: commsched.all_reduce {{.*}} "a+b"
// CHECK: commsched.all_reduce {{.*}} "c"
// CHECK: commsched.all_reduce {{.*}} "d"
// CHECK: return
// REMARK: Function=all_reduces | {{.*}}'c' stays alone: it is not part of fully sharded data parallelism
// REMARK: Function=all_reduces | {{.*}}'d' stays alone: it is not part of fully sharded data parallelism
func.func @all_reduces(%p: !shard {commsched.role = "parameter"}, %x: !whole) -> (!whole, !whole, !whole, !whole, !whole) {
  $run(%w = all_gather %p on @dp dim(0) : !shard -> !whole)
  $run(%wa = all_reduce %x on @dp reduction(sum) {commsched.name = "a"} : !whole -> !whole)
  $run(%wb = all_reduce %x on @dp reduction(sum) {commsched.name = "b"} : !whole -> !whole)
  $run(%wc = all_reduce %x on @tp reduction(sum) {commsched.name = "c"} : !whole -> !whole)
  $run(%wd = all_reduce %x on @tp reduction(sum) {commsched.name = "d"} : !whole -> !whole)
  return %w, %wa, %wb, %wc, %wd : !whole, !whole, !whole, !whole, !whole
}
