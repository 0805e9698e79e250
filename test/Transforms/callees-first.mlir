// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-pipeline=memory-budget=100%% \
// RUN:   --commsched-report=format=json -o %t | FileCheck %s --check-prefix=STEP
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t.mlir --commsched-pipeline=memory-budget=100%% \
// RUN:   --mlir-disable-threading | diff %t -

// A caller is scheduled with its callees as they have been scheduled: the call
// of @layer takes 40 and no longer 70. "own" is hidden behind the call of @pure, a
// computation, but crosses no call that communicates.

!t = tensor<64xf32>
commsched.group @g size(8)
commsched.group @h size(8)

// Before its callee in the module, and still after it.
// CHECK-LABEL: func.func @step(
// CHECK: commsched.all_reduce %arg1
// CHECK-NEXT: call @pure(%arg0)
// CHECK-NOT: commsched.callee
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: call @layer
// STEP: "function":"step"{{.*}}"step_time_ns":90,
func.func @step(%x: !t, %z: !t) -> (!t, !t) {
  $run(%w = all_reduce %z on @h reduction(sum) {commsched.name = "own", commsched.runtime_ns = 50} : !t -> !t)
  %p = func.call @pure(%x) {no_inline} : (!t) -> !t
  %y = func.call @layer(%p) {no_inline} : (!t) -> !t
  return %y, %w : !t, !t
}

func.func private @pure(%x: !t) -> !t {
  %y = commsched.compute "y"(%x) {commsched.runtime_ns = 50} : (!t) -> !t
  return %y : !t
}

// CHECK-LABEL: func.func private @layer(
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "mm"
// CHECK-NEXT: commsched.wait
func.func private @layer(%x: !t) -> !t {
  $run(%w = all_reduce %x on @g reduction(sum) {commsched.name = "reduce", commsched.runtime_ns = 30} : !t -> !t)
  %m = commsched.compute "mm"(%x) {commsched.runtime_ns = 40} : (!t) -> !t
  %y = commsched.compute "add"(%m, %w) {commsched.runtime_ns = 0} : (!t, !t) -> !t
  return %y : !t
}
