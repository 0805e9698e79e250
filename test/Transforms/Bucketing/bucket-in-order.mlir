// RUN: commsched-opt %s --commsched-bucket-all-reduce > %t
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t --commsched-bucket-all-reduce | diff %t -
// RUN: commsched-opt %s --commsched-bucket-all-reduce=mode=coalesced | FileCheck %s

// Collectives with a `commsched.order` keep it: neighbours in it may be merged,
// others would have to start both before and after what is between them.

!x = tensor<8xf32>

commsched.group @g size(2)
commsched.group @h size(2)

// CHECK-LABEL: func.func @neighbours(
// CHECK: commsched.all_reduce {{.*}} {commsched.name = "a+b", commsched.order = 0 : i64{{.*}}}
// CHECK: commsched.all_reduce {{.*}} {commsched.name = "c", commsched.order = 2 : i64}
// CHECK: commsched.all_reduce {{.*}} {commsched.name = "d+e", commsched.order = 3 : i64{{.*}}}
// CHECK: return
func.func @neighbours(%x: !x) -> (!x, !x, !x, !x, !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a", commsched.order = 0} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %b = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "b", commsched.order = 1} : !x -> !commsched.future<!x>
  %c = commsched.all_reduce %x on @h reduction(sum) {commsched.name = "c", commsched.order = 2} : !x -> !commsched.future<!x>
  %d = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "d", commsched.order = 3} : !x -> !commsched.future<!x>
  %e = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "e", commsched.order = 7} : !x -> !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  %we = commsched.wait %e : !commsched.future<!x>
  return %wa, %wb, %wc, %wd, %we : !x, !x, !x, !x, !x
}

// What is in between need not be of the same kind, nor what is merged in the
// order: a bucket has the place of the one that is.
// CHECK-LABEL: func.func @some(
// CHECK: commsched.all_reduce {{.*}} {commsched.name = "a+b", commsched.order = 4 : i64{{.*}}}
// CHECK: commsched.reduce_scatter {{.*}} {commsched.order = 5 : i64}
// CHECK: commsched.all_reduce {{.*}} {commsched.name = "c", commsched.order = 6 : i64}
// CHECK: return
func.func @some(%x: !x) -> (!x, !x, tensor<4xf32>, !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %b = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "b", commsched.order = 4} : !x -> !commsched.future<!x>
  %f = commsched.reduce_scatter %x on @h reduction(sum) dim(0) {commsched.order = 5} : !x -> !commsched.future<tensor<4xf32>>
  %c = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "c", commsched.order = 6} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %wf = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %wc = commsched.wait %c : !commsched.future<!x>
  return %wa, %wb, %wf, %wc : !x, !x, tensor<4xf32>, !x
}
