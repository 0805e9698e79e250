// RUN: commsched-opt %s --commsched-bucket-all-reduce | FileCheck %s
// RUN: commsched-opt %s --commsched-bucket-all-reduce=mode=coalesced | FileCheck %s

// No bucket holds two collectives one of which needs the other. What finds no
// place in one bucket opens another.

!x = tensor<8xf32>

commsched.group @g size(2)

// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: commsched.all_reduce {{.*}} "a"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "add"
// CHECK-NEXT: commsched.all_reduce {{.*}} "b"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: return
func.func @chain(%x: !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %ib = commsched.compute "add"(%wa) : (!x) -> !x
  %b = commsched.all_reduce %ib on @g reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  return
}

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

// Step by step, three chains are one.
// CHECK-LABEL: func.func @three_chains(
// CHECK: commsched.all_reduce {{.*}} "a1+b1+c1"
// CHECK: commsched.all_reduce {{.*}} "a2+b2+c2"
// CHECK: commsched.all_reduce {{.*}} "a3+b3+c3"
// CHECK: return
func.func @three_chains(%x: !x) {
  %a1 = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a1"} : !x -> !commsched.future<!x>
  %wa1 = commsched.wait %a1 : !commsched.future<!x>
  %ia2 = commsched.compute "add"(%wa1) : (!x) -> !x
  %a2 = commsched.all_reduce %ia2 on @g reduction(sum) {commsched.name = "a2"} : !x -> !commsched.future<!x>
  %wa2 = commsched.wait %a2 : !commsched.future<!x>
  %ia3 = commsched.compute "add"(%wa2) : (!x) -> !x
  %a3 = commsched.all_reduce %ia3 on @g reduction(sum) {commsched.name = "a3"} : !x -> !commsched.future<!x>
  %wa3 = commsched.wait %a3 : !commsched.future<!x>
  %b1 = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "b1"} : !x -> !commsched.future<!x>
  %wb1 = commsched.wait %b1 : !commsched.future<!x>
  %ib2 = commsched.compute "add"(%wb1) : (!x) -> !x
  %b2 = commsched.all_reduce %ib2 on @g reduction(sum) {commsched.name = "b2"} : !x -> !commsched.future<!x>
  %wb2 = commsched.wait %b2 : !commsched.future<!x>
  %ib3 = commsched.compute "add"(%wb2) : (!x) -> !x
  %b3 = commsched.all_reduce %ib3 on @g reduction(sum) {commsched.name = "b3"} : !x -> !commsched.future<!x>
  %wb3 = commsched.wait %b3 : !commsched.future<!x>
  %c1 = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "c1"} : !x -> !commsched.future<!x>
  %wc1 = commsched.wait %c1 : !commsched.future<!x>
  %ic2 = commsched.compute "add"(%wc1) : (!x) -> !x
  %c2 = commsched.all_reduce %ic2 on @g reduction(sum) {commsched.name = "c2"} : !x -> !commsched.future<!x>
  %wc2 = commsched.wait %c2 : !commsched.future<!x>
  %ic3 = commsched.compute "add"(%wc2) : (!x) -> !x
  %c3 = commsched.all_reduce %ic3 on @g reduction(sum) {commsched.name = "c3"} : !x -> !commsched.future<!x>
  %wc3 = commsched.wait %c3 : !commsched.future<!x>
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
