// RUN: %rows %s | commsched-opt --commsched-bucket-all-reduce > %t
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t --commsched-bucket-all-reduce | diff %t -
// RUN: %rows %s | commsched-opt --commsched-bucket-all-reduce=mode=coalesced | FileCheck %s

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
  $run(%wa = all_reduce %x on @g reduction(sum) {commsched.name = "a", commsched.order = 0} : !x -> !x)
  $run(%wb = all_reduce %x on @g reduction(sum) {commsched.name = "b", commsched.order = 1} : !x -> !x)
  $run(%wc = all_reduce %x on @h reduction(sum) {commsched.name = "c", commsched.order = 2} : !x -> !x)
  $run(%wd = all_reduce %x on @g reduction(sum) {commsched.name = "d", commsched.order = 3} : !x -> !x)
  $run(%we = all_reduce %x on @g reduction(sum) {commsched.name = "e", commsched.order = 7} : !x -> !x)
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
  $run(%wa = all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !x)
  $run(%wb = all_reduce %x on @g reduction(sum) {commsched.name = "b", commsched.order = 4} : !x -> !x)
  $run(%wf = reduce_scatter %x on @h reduction(sum) dim(0) {commsched.order = 5} : !x -> tensor<4xf32>)
  $run(%wc = all_reduce %x on @g reduction(sum) {commsched.name = "c", commsched.order = 6} : !x -> !x)
  return %wa, %wb, %wf, %wc : !x, !x, tensor<4xf32>, !x
}
