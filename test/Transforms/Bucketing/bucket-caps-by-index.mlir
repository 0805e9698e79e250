// DEFINE: %{merge} = %rows %s | commsched-opt --commsched-bucket-all-reduce=

// 256 bytes for the first bucket, 512 for all others.
// RUN: %{merge}cap-mb=0.000244140625,0.00048828125 | FileCheck %s --check-prefix=LARGER

// Numbers of members, alone and with sizes.
// RUN: %{merge}max-count=3 | FileCheck %s --check-prefix=COUNT
// RUN: %{merge}max-count=0 | FileCheck %s --check-prefix=ALL
// RUN: %{merge}"max-count=3 cap-mb=0.0003,0.0004" | FileCheck %s --check-prefix=SIZE

// Ten members of 128 bytes. The last cap stands for all further ones.

!x = tensor<32xf32>

commsched.group @g size(2)

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
  $run(%wa = all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !x)
  $run(%wb = all_reduce %x on @g reduction(sum) {commsched.name = "b"} : !x -> !x)
  $run(%wc = all_reduce %x on @g reduction(sum) {commsched.name = "c"} : !x -> !x)
  $run(%wd = all_reduce %x on @g reduction(sum) {commsched.name = "d"} : !x -> !x)
  $run(%we = all_reduce %x on @g reduction(sum) {commsched.name = "e"} : !x -> !x)
  $run(%wf = all_reduce %x on @g reduction(sum) {commsched.name = "f"} : !x -> !x)
  $run(%wg = all_reduce %x on @g reduction(sum) {commsched.name = "g"} : !x -> !x)
  $run(%wh = all_reduce %x on @g reduction(sum) {commsched.name = "h"} : !x -> !x)
  $run(%wi = all_reduce %x on @g reduction(sum) {commsched.name = "i"} : !x -> !x)
  $run(%wj = all_reduce %x on @g reduction(sum) {commsched.name = "j"} : !x -> !x)
  return
}
