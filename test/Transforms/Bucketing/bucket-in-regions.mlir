// RUN: %rows %s | commsched-opt --commsched-bucket-all-reduce | FileCheck %s
// RUN: %rows %s | commsched-opt --commsched-bucket-all-reduce=mode=coalesced | FileCheck %s

// Buckets are made inside the body of a loop and around it, but of nothing from
// both. What stands on both sides of an operation with collectives stays there.

!x = tensor<8xf32>

commsched.group @g size(2)

// CHECK-LABEL: func.func @loop(
// CHECK: commsched.all_reduce {{.*}} "before1+before2"
// CHECK: scf.for
// CHECK: commsched.all_reduce {{.*}} "inside1+inside2"
// CHECK: scf.yield
// CHECK: commsched.all_reduce {{.*}} "after1+after2"
// CHECK-NOT: commsched.all_reduce
func.func @loop(%x: !x, %lower: index, %upper: index, %step: index) -> (!x, !x, !x, !x, !x) {
  $run(%wa = all_reduce %x on @g reduction(sum) {commsched.name = "before1"} : !x -> !x)
  $run(%wb = all_reduce %x on @g reduction(sum) {commsched.name = "before2"} : !x -> !x)
  %loop = scf.for %i = %lower to %upper step %step iter_args(%y = %x) -> !x {
    $run(%wc = all_reduce %y on @g reduction(sum) {commsched.name = "inside1"} : !x -> !x)
    $run(%wd = all_reduce %x on @g reduction(sum) {commsched.name = "inside2"} : !x -> !x)
    %sum = commsched.compute "add"(%wc, %wd) : (!x, !x) -> !x
    scf.yield %sum : !x
  }
  $run(%we = all_reduce %x on @g reduction(sum) {commsched.name = "after1"} : !x -> !x)
  $run(%wf = all_reduce %x on @g reduction(sum) {commsched.name = "after2"} : !x -> !x)
  return %wa, %wb, %loop, %we, %wf : !x, !x, !x, !x, !x
}

// A loop without collectives may stand in the middle of a bucket.
// CHECK-LABEL: func.func @around(
// CHECK: commsched.all_reduce {{.*}} "a+b"
// CHECK: scf.for
// CHECK: commsched.wait
func.func @around(%x: !x, %lower: index, %upper: index, %step: index) -> (!x, !x, !x) {
  $run(%wa = all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !x)
  %loop = scf.for %i = %lower to %upper step %step iter_args(%y = %x) -> !x {
    %sum = commsched.compute "add"(%x, %y) : (!x, !x) -> !x
    scf.yield %sum : !x
  }
  $run(%wb = all_reduce %x on @g reduction(sum) {commsched.name = "b"} : !x -> !x)
  return %wa, %wb, %loop : !x, !x, !x
}
