// DEFINE: %{options} =
// DEFINE: %{merge} = commsched-opt %t.mlir --commsched-bucket-all-reduce="max-count=2 %{options}"

// In a node, neighbours share a bucket.
// RUN: cp %s %t.mlir
// REDEFINE: %{options} = preserve-overlap
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,PROGRAM

// Across nodes, those that computation does not hide find each other first, if
// anybody looks at overlap.
// RUN: sed -e "s/size(8)/size(16) ranks_per_node(8)/" %s > %t.mlir
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,EXPOSED
// REDEFINE: %{options} =
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,PROGRAM

!x = tensor<4xf32>

// Whatever its size, a collective takes a millisecond and little more.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.collective_launch_us" = 1000.0 : f64>>} {

commsched.group @g size(8)

// Nothing hides any of them, so their order is that of the program.
// CHECK-LABEL: func.func @all_exposed(
// CHECK: "a+b"
// CHECK: "c+d"
func.func @all_exposed(%x: !x) -> (!x, !x, !x, !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %b = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %c = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %d = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  return %wa, %wb, %wc, %wd : !x, !x, !x, !x
}

// The products behind a and c hide them, and nothing hides b and d.
// CHECK-LABEL: func.func @every_other_exposed(
// PROGRAM: "a+b"
// PROGRAM: "c+d"
// EXPOSED: "a+c"
// EXPOSED: "b+d"
// CHECK: return
func.func @every_other_exposed(%x: !x) -> (!x, !x, !x, !x) {
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 2000000} : (!x) -> !x
  %a = commsched.all_reduce %m1 on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %m2 = commsched.compute "mm2"(%x) {commsched.runtime_ns = 2000000} : (!x) -> !x
  %b = commsched.all_reduce %m2 on @g reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %wa = commsched.wait %a : !commsched.future<!x>
  %wb = commsched.wait %b : !commsched.future<!x>
  %m3 = commsched.compute "mm3"(%x) {commsched.runtime_ns = 2000000} : (!x) -> !x
  %c = commsched.all_reduce %m3 on @g reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %m4 = commsched.compute "mm4"(%x) {commsched.runtime_ns = 2000000} : (!x) -> !x
  %d = commsched.all_reduce %m4 on @g reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  return %wa, %wb, %wc, %wd : !x, !x, !x, !x
}

// The product behind a is too short to hide it, and the one behind b long enough.
// CHECK-LABEL: func.func @partly_hidden(
// PROGRAM: "a+b"
// PROGRAM: "c+d"
// EXPOSED: "a+c"
// EXPOSED: "b+d"
// CHECK: return
func.func @partly_hidden(%x: !x) -> (!x, !x, !x, !x, !x) {
  %a = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "a"} : !x -> !commsched.future<!x>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 900000} : (!x) -> !x
  %wa = commsched.wait %a : !commsched.future<!x>
  %b = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "b"} : !x -> !commsched.future<!x>
  %m2 = commsched.compute "mm2"(%m1) {commsched.runtime_ns = 1200000} : (!x) -> !x
  %wb = commsched.wait %b : !commsched.future<!x>
  %c = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "c"} : !x -> !commsched.future<!x>
  %wc = commsched.wait %c : !commsched.future<!x>
  %d = commsched.all_reduce %x on @g reduction(sum) {commsched.name = "d"} : !x -> !commsched.future<!x>
  %wd = commsched.wait %d : !commsched.future<!x>
  return %wa, %wb, %wc, %wd, %m2 : !x, !x, !x, !x, !x
}
}
