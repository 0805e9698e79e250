// Without marks nothing changes, and nothing is looked at.
// RUN: commsched-opt %s > %t.before
// RUN: commsched-opt %s --commsched-compile-regions \
// RUN:   --remarks-filter=commsched 2> %t.remarks | diff %t.before -
// RUN: FileCheck %s < %t.remarks --implicit-check-not=remark:
// CHECK: remark: {{.*}}NoMarkedRegions{{.*}}no operation has the mark 'commsched.compile_with'

// `commsched.order` contradicts the program, which a scheduling pass refuses.
commsched.group @dp size(4)
func.func @unmarked(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %f = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 2 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %g = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %0 = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %1 = commsched.wait %g : !commsched.future<tensor<4xf32>>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
