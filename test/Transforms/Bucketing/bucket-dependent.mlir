// RUN: commsched-opt %s --commsched-bucket-all-reduce | FileCheck %s
// RUN: commsched-opt %s --commsched-bucket-all-reduce=mode=coalesced | FileCheck %s

// No bucket holds two collectives one of which needs the other. What finds no
// place in one bucket opens another.

!x = tensor<8xf32>

commsched.group @g size(2)

// CHECK-LABEL: func.func @two_chains(
// CHECK: commsched.all_reduce {{.*}} "a+c"
// CHECK: commsched.all_reduce {{.*}} "b+d"
// CHECK: return
func.func @two_chains(%x: !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %ib = commsched.compute "add"(%wa) : (!x) -> !x
  %b = commsched.all_reduce %ib on @g reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %c = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %id = commsched.compute "add"(%wc) : (!x) -> !x
  %d = commsched.all_reduce %id on @g reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  return
}

// The last needs both, through a chain of others; what comes in between goes
// with the first.
// CHECK-LABEL: func.func @joined(
// CHECK: commsched.all_reduce {{.*}} "a+b+d"
// CHECK: commsched.all_reduce {{.*}} "c"
// CHECK: return
func.func @joined(%x: !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %b = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %ic = commsched.compute "add"(%wa, %wb) : (!x, !x) -> !x
  %c = commsched.all_reduce %ic on @g reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %d = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  return
}
