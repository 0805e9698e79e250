// A pass that fails is an error at the operations whose pipeline has it; all
// others run, and the errors come in the order of the regions.
// RUN: not commsched-opt %s --commsched-compile-regions 2> %t.threads
// RUN: not commsched-opt %s --commsched-compile-regions --mlir-disable-threading 2> %t.one
// RUN: diff %t.threads %t.one
// RUN: FileCheck %s < %t.one

// CHECK: failing-pass.mlir:[[@LINE+15]]:10: error: 'commsched.all_reduce' op {{.*}}commsched.order
// CHECK: failing-pass.mlir:[[@LINE+28]]:10: error: 'commsched.all_reduce' op {{.*}}commsched.order
// CHECK: failing-pass.mlir:[[@LINE+10]]:3: error: 'scf.for' op is not compiled: the pipeline 'commsched-order-collectives' failed
// CHECK: note: on @__marked_region_0, which it was outlined to
// CHECK-NOT: region_1
// CHECK: failing-pass.mlir:[[@LINE+21]]:3: error: 'scf.for' op is not compiled: the pipeline 'func.func(commsched-order-collectives)' failed
// CHECK: note: on @__marked_region_2, which it was outlined to
// CHECK-NOT: error
commsched.group @dp size(4)
func.func @first(%x: tensor<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %f = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 2 : i64}
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %g = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 1 : i64}
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %0 = commsched.wait %f : !commsched.future<tensor<4xf32>>
    %1 = commsched.wait %g : !commsched.future<tensor<4xf32>>
  } {commsched.compile_with = {pipeline = "commsched-order-collectives", region = "a"}}
  return
}
func.func @second(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "c"}} : tensor<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    %f = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 2 : i64}
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %g = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 1 : i64}
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %1 = commsched.wait %f : !commsched.future<tensor<4xf32>>
    %2 = commsched.wait %g : !commsched.future<tensor<4xf32>>
  } {commsched.compile_with = {pipeline = "func.func(commsched-order-collectives)", region = "b"}}
  return %0 : tensor<4xf32>
}
