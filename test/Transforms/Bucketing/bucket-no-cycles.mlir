// RUN: commsched-opt %s --commsched-bucket-all-reduce | FileCheck %s
// RUN: commsched-opt %s --commsched-bucket-all-reduce=mode=coalesced | FileCheck %s

// No two buckets wait for each other, whatever chain leads from one to the
// other. Each group has buckets of its own.

!x = tensor<8xf32>

commsched.group @g size(2)
commsched.group @h size(2)
commsched.group @k size(2)

// If nothing leads back, both are buckets.
// CHECK-LABEL: func.func @parallel(
// CHECK: commsched.all_reduce {{.*}} "g1+g2"
// CHECK: commsched.all_reduce {{.*}} "h1+h2"
// CHECK: return
func.func @parallel(%x: !x) {
  %g1 = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "g1"} : !x -> !commsched.future<!x>
  %wg1 = commsched.wait %g1 : !commsched.future<!x>
  %ih1 = commsched.compute "add"(%wg1) : (!x) -> !x
  %h1 = commsched.all_reduce %ih1 on @h reduction(sum) {commsched.name = "h1"} : !x -> !commsched.future<!x>
  %wh1 = commsched.wait %h1 : !commsched.future<!x>
  %g2 = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "g2"} : !x -> !commsched.future<!x>
  %wg2 = commsched.wait %g2 : !commsched.future<!x>
  %ih2 = commsched.compute "add"(%wg2) : (!x) -> !x
  %h2 = commsched.all_reduce %ih2 on @h reduction(sum) {commsched.name = "h2"} : !x -> !commsched.future<!x>
  %wh2 = commsched.wait %h2 : !commsched.future<!x>
  return
}

// {h1, h2} starts after g1, {k1, k2} after {h1, h2}, and g2 after {k1, k2}.
// CHECK-LABEL: func.func @three_groups(
// CHECK: commsched.all_reduce {{.*}} "g1"
// CHECK: commsched.all_reduce {{.*}} "h1+h2"
// CHECK: commsched.all_reduce {{.*}} "k1+k2"
// CHECK: commsched.all_reduce {{.*}} "g2"
// CHECK: return
func.func @three_groups(%x: !x) {
  %g1 = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "g1"} : !x -> !commsched.future<!x>
  %wg1 = commsched.wait %g1 : !commsched.future<!x>
  %ih1 = commsched.compute "add"(%wg1) : (!x) -> !x
  %h1 = commsched.all_reduce %ih1 on @h reduction(sum) {commsched.name = "h1"} : !x -> !commsched.future<!x>
  %wh1 = commsched.wait %h1 : !commsched.future<!x>
  %h2 = commsched.all_reduce %x on @h reduction(sum) {commsched.name = "h2"} : !x -> !commsched.future<!x>
  %wh2 = commsched.wait %h2 : !commsched.future<!x>
  %ik1 = commsched.compute "add"(%wh2) : (!x) -> !x
  %k1 = commsched.all_reduce %ik1 on @k reduction(sum) {commsched.name = "k1"} : !x -> !commsched.future<!x>
  %wk1 = commsched.wait %k1 : !commsched.future<!x>
  %k2 = commsched.all_reduce %x on @k reduction(sum) {commsched.name = "k2"} : !x -> !commsched.future<!x>
  %wk2 = commsched.wait %k2 : !commsched.future<!x>
  %ig2 = commsched.compute "add"(%wk2) : (!x) -> !x
  %g2 = commsched.all_reduce %ig2 on @g reduction(sum) {commsched.name = "g2"} : !x -> !commsched.future<!x>
  %wg2 = commsched.wait %g2 : !commsched.future<!x>
  return
}

// No bucket holds two collectives one of which needs the other. What finds no
// place in one bucket opens another.
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
