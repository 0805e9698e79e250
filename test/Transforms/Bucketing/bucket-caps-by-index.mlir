// DEFINE: %{merge} = commsched-opt %s --commsched-bucket-all-reduce=

// 256 bytes for the first bucket, 512 for all others.
// RUN: %{merge}cap-mb=0.000244140625,0.00048828125 | FileCheck %s --check-prefix=LARGER

// Numbers of members, alone and with sizes.
// RUN: %{merge}max-count=3 | FileCheck %s --check-prefix=COUNT
// RUN: %{merge}max-count=0 | FileCheck %s --check-prefix=ALL
// RUN: %{merge}"max-count=3 cap-mb=0.0003,0.0004" | FileCheck %s --check-prefix=SIZE

// Ten members of 128 bytes. The last cap stands for all further ones, and each
// key counts its own buckets.

!x = tensor<32xf32>

commsched.group @g size(2)
commsched.group @h size(2)

// LARGER: "a+b"
// LARGER: "c+d+e+f"
// LARGER: "g+h+i+j"
// COUNT: "a+b+c"
// COUNT: "d+e+f"
// COUNT: "g+h+i"
// COUNT: commsched.all_reduce {{.*}} "j"
// ALL: "a+b+c+d+e+f+g+h+i+j"
// SIZE: "a+b"
// SIZE: "c+d+e"
// SIZE: "f+g+h"
// SIZE: "i+j"
func.func @ten(%x: !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %b = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %c = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %d = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %e = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "e"} : !x -> !commsched.future<!x>
  %f = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "f"} : !x -> !commsched.future<!x>
  %g = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "g"} : !x -> !commsched.future<!x>
  %h = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "h"} : !x -> !commsched.future<!x>
  %i = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "i"} : !x -> !commsched.future<!x>
  %j = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "j"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  %we = commsched.wait %e : !commsched.future<!x>
  %wf = commsched.wait %f : !commsched.future<!x>
  %wg = commsched.wait %g : !commsched.future<!x>
  %wh = commsched.wait %h : !commsched.future<!x>
  %wi = commsched.wait %i : !commsched.future<!x>
  %wj = commsched.wait %j : !commsched.future<!x>
  return
}

// LARGER-LABEL: func.func @two_keys(
// LARGER: @g {{.*}} "a+c"
// LARGER: @h {{.*}} "b+d"
func.func @two_keys(%x: !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %b = commsched.all_reduce %x on @h reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %c = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %d = commsched.all_reduce %x on @h reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  return
}
