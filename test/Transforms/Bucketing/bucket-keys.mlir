// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather \
// RUN:   --commsched-bucket-reduce-scatter | FileCheck %s
// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather=mode=coalesced \
// RUN:   --commsched-bucket-reduce-scatter=mode=coalesced | FileCheck %s

// Of what differs in group, reduction, element type, side of the joint graph or
// recomputation policy, two and two share a bucket, which has in common what
// its members have.

!shard = tensor<4xf32>
!whole = tensor<8xf32>
!half = tensor<4xf16>
!whole_half = tensor<8xf16>

commsched.group @g size(2)
commsched.group @h size(2)

// CHECK-LABEL: func.func @all_gathers(
// CHECK: commsched.all_gather {{.*}} on @g {{.*}}{commsched.name = "a+e"{{.*}}}
// CHECK: commsched.all_gather {{.*}} on @h {{.*}}{commsched.name = "b+f"{{.*}}}
// CHECK: commsched.all_gather {{.*}} on @g {{.*}}{commsched.name = "c+g", {{.*}}commsched.partition = "backward"}
// CHECK: commsched.all_gather {{.*}} on @g {{.*}}{commsched.name = "d+h", {{.*}}commsched.recompute = "must_recompute"}
// CHECK: commsched.all_gather {{.*}} on @g {{.*}}{commsched.name = "i+j"{{.*}}} : {{.*}}xf16>
// CHECK-NOT: commsched.all_gather %
func.func @all_gathers(%x: !shard, %y: !half) -> (!whole, !whole, !whole, !whole, !whole, !whole, !whole, !whole, !whole_half, !whole_half) {
  $run(%wa = all_gather %x on @g dim(0) {commsched.name = "a"} : !shard -> !whole)
  $run(%wb = all_gather %x on @h dim(0) {commsched.name = "b"} : !shard -> !whole)
  $run(%wc = all_gather %x on @g dim(0) {commsched.name = "c", commsched.partition = "backward"} : !shard -> !whole)
  $run(%wd = all_gather %x on @g dim(0) {commsched.name = "d", commsched.recompute = "must_recompute"} : !shard -> !whole)
  $run(%we = all_gather %x on @g dim(0) {commsched.name = "e"} : !shard -> !whole)
  $run(%wf = all_gather %x on @h dim(0) {commsched.name = "f"} : !shard -> !whole)
  $run(%wg = all_gather %x on @g dim(0) {commsched.name = "g", commsched.partition = "backward"} : !shard -> !whole)
  $run(%wh = all_gather %x on @g dim(0) {commsched.name = "h", commsched.recompute = "must_recompute"} : !shard -> !whole)
  $run(%wi = all_gather %y on @g dim(0) {commsched.name = "i"} : !half -> !whole_half)
  $run(%wj = all_gather %y on @g dim(0) {commsched.name = "j"} : !half -> !whole_half)
  return %wa, %wb, %wc, %wd, %we, %wf, %wg, %wh, %wi, %wj : !whole, !whole, !whole, !whole, !whole, !whole, !whole, !whole, !whole_half, !whole_half
}

// CHECK-LABEL: func.func @reduce_scatters(
// CHECK: commsched.reduce_scatter {{.*}} on @g reduction(sum) {{.*}}"a+d"
// CHECK: commsched.reduce_scatter {{.*}} on @g reduction(avg) {{.*}}"b+e"
// CHECK: commsched.reduce_scatter {{.*}} on @h reduction(sum) {{.*}}"c+f"
// CHECK: commsched.reduce_scatter {{.*}} on @g reduction(sum) {{.*}}"h"
// CHECK-NOT: commsched.reduce_scatter
// CHECK: return
func.func @reduce_scatters(%x: !whole, %y: !whole_half) -> (!shard, !shard, !shard, !shard, !shard, !shard, !half) {
  $run(%wa = reduce_scatter %x on @g reduction(sum) dim(0) {commsched.name = "a"} : !whole -> !shard)
  $run(%wb = reduce_scatter %x on @g reduction(avg) dim(0) {commsched.name = "b"} : !whole -> !shard)
  $run(%wc = reduce_scatter %x on @h reduction(sum) dim(0) {commsched.name = "c"} : !whole -> !shard)
  $run(%wd = reduce_scatter %x on @g reduction(sum) dim(0) {commsched.name = "d"} : !whole -> !shard)
  $run(%we = reduce_scatter %x on @g reduction(avg) dim(0) {commsched.name = "e"} : !whole -> !shard)
  $run(%wf = reduce_scatter %x on @h reduction(sum) dim(0) {commsched.name = "f"} : !whole -> !shard)
  $run(%wh = reduce_scatter %y on @g reduction(sum) dim(0) {commsched.name = "h"} : !whole_half -> !half)
  return %wa, %wb, %wc, %wd, %we, %wf, %wh : !shard, !shard, !shard, !shard, !shard, !shard, !half
}
