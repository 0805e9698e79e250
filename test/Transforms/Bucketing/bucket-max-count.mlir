// DEFINE: %{options} =
// DEFINE: %{merge} = commsched-opt %s --commsched-bucket-all-reduce=%{options}

// REDEFINE: %{options} = max-count=3
// RUN: %{merge} | FileCheck %s --check-prefix=THREE
// REDEFINE: %{options} = max-count=6
// RUN: %{merge} | FileCheck %s --check-prefix=SIX
// REDEFINE: %{options} = max-count=7
// RUN: %{merge} | FileCheck %s --check-prefix=ALL
// REDEFINE: %{options} = max-count=0
// RUN: %{merge} | FileCheck %s --check-prefix=ALL
// REDEFINE: %{options} = max-count=1
// RUN: %{merge} | FileCheck %s --check-prefix=NONE
// Sizes count as well.
// REDEFINE: %{options} = "max-count=3 cap-mb=0.0003,0.0004"
// RUN: %{merge} | FileCheck %s --check-prefix=SIZE

// Buckets of seven members are split exactly at the count.

!x = tensor<32xf32>

commsched.group @g size(2)

// THREE: "a+b+c"
// THREE: "d+e+f"
// THREE: commsched.all_reduce {{.*}} "g"
// SIX: "a+b+c+d+e+f"
// SIX: commsched.all_reduce {{.*}} "g"
// ALL: "a+b+c+d+e+f+g"
// NONE-COUNT-7: commsched.all_reduce %arg0
// SIZE: "a+b"
// SIZE: "c+d+e"
// SIZE: "f+g"
func.func @seven(%x: !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %b = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %c = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %d = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %e = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "e"} : !x -> !commsched.future<!x>
  %f = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "f"} : !x -> !commsched.future<!x>
  %g = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "g"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  %we = commsched.wait %e : !commsched.future<!x>
  %wf = commsched.wait %f : !commsched.future<!x>
  %wg = commsched.wait %g : !commsched.future<!x>
  return
}
