// RUN: commsched-opt %s --commsched-bucket-all-gather \
// RUN:   --commsched-bucket-reduce-scatter | FileCheck %s
// RUN: commsched-opt %s --commsched-bucket-all-gather=mode=coalesced \
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
  %a = commsched.all_gather %x on @g dim(0) {commsched.name = "a"} : !shard -> !commsched.future<!whole>
  %b = commsched.all_gather %x on @h dim(0) {commsched.name = "b"} : !shard -> !commsched.future<!whole>
  %c = commsched.all_gather %x on @g dim(0) {commsched.name = "c", commsched.partition = "backward"} : !shard -> !commsched.future<!whole>
  %d = commsched.all_gather %x on @g dim(0) {commsched.name = "d", commsched.recompute = "must_recompute"} : !shard -> !commsched.future<!whole>
  %e = commsched.all_gather %x on @g dim(0) {commsched.name = "e"} : !shard -> !commsched.future<!whole>
  %f = commsched.all_gather %x on @h dim(0) {commsched.name = "f"} : !shard -> !commsched.future<!whole>
  %g = commsched.all_gather %x on @g dim(0) {commsched.name = "g", commsched.partition = "backward"} : !shard -> !commsched.future<!whole>
  %h = commsched.all_gather %x on @g dim(0) {commsched.name = "h", commsched.recompute = "must_recompute"} : !shard -> !commsched.future<!whole>
  %i = commsched.all_gather %y on @g dim(0) {commsched.name = "i"} : !half -> !commsched.future<!whole_half>
  %j = commsched.all_gather %y on @g dim(0) {commsched.name = "j"} : !half -> !commsched.future<!whole_half>
  %wa = commsched.wait %a : !commsched.future<!whole>
  %wb = commsched.wait %b : !commsched.future<!whole>
  %wc = commsched.wait %c : !commsched.future<!whole>
  %wd = commsched.wait %d : !commsched.future<!whole>
  %we = commsched.wait %e : !commsched.future<!whole>
  %wf = commsched.wait %f : !commsched.future<!whole>
  %wg = commsched.wait %g : !commsched.future<!whole>
  %wh = commsched.wait %h : !commsched.future<!whole>
  %wi = commsched.wait %i : !commsched.future<!whole_half>
  %wj = commsched.wait %j : !commsched.future<!whole_half>
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
  %a = commsched.reduce_scatter %x on @g reduction(sum) dim(0) {commsched.name = "a"} : !whole -> !commsched.future<!shard>
  %b = commsched.reduce_scatter %x on @g reduction(avg) dim(0) {commsched.name = "b"} : !whole -> !commsched.future<!shard>
  %c = commsched.reduce_scatter %x on @h reduction(sum) dim(0) {commsched.name = "c"} : !whole -> !commsched.future<!shard>
  %d = commsched.reduce_scatter %x on @g reduction(sum) dim(0) {commsched.name = "d"} : !whole -> !commsched.future<!shard>
  %e = commsched.reduce_scatter %x on @g reduction(avg) dim(0) {commsched.name = "e"} : !whole -> !commsched.future<!shard>
  %f = commsched.reduce_scatter %x on @h reduction(sum) dim(0) {commsched.name = "f"} : !whole -> !commsched.future<!shard>
  %h = commsched.reduce_scatter %y on @g reduction(sum) dim(0) {commsched.name = "h"} : !whole_half -> !commsched.future<!half>
  %wa = commsched.wait %a : !commsched.future<!shard>
  %wb = commsched.wait %b : !commsched.future<!shard>
  %wc = commsched.wait %c : !commsched.future<!shard>
  %wd = commsched.wait %d : !commsched.future<!shard>
  %we = commsched.wait %e : !commsched.future<!shard>
  %wf = commsched.wait %f : !commsched.future<!shard>
  %wh = commsched.wait %h : !commsched.future<!half>
  return %wa, %wb, %wc, %wd, %we, %wf, %wh : !shard, !shard, !shard, !shard, !shard, !shard, !half
}
