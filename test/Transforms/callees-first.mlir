// RUN: commsched-opt %s --commsched-pipeline=memory-budget=100%% \
// RUN:   --commsched-report=format=json -o %t | FileCheck %s --check-prefix=STEP
// RUN: FileCheck %s < %t
// RUN: commsched-opt %s --commsched-pipeline=memory-budget=100%% \
// RUN:   --mlir-disable-threading | diff %t -

// A caller is scheduled with its callees as they have been scheduled: the call
// of @layer takes 40 and no longer 70. "own" is hidden behind the call of @pure, a
// computation, but crosses no call that communicates.

commsched.group @g size(8)
commsched.group @h size(8)

// Before its callee in the module, and still after it.
// CHECK-LABEL: func.func @step(
// CHECK: commsched.all_reduce %arg1
// CHECK-NEXT: call @pure(%arg0)
// CHECK-NOT: commsched.callee
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: call @layer
// STEP: "function":"step"
// STEP-SAME: "step_time_ns":90,
func.func @step(%x: tensor<64xf32>, %z: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>) {
  %f = commsched.all_reduce %z on @h reduction(sum)
      {commsched.name = "own", commsched.runtime_ns = 50 : i64}
      : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<64xf32>>
  %p = func.call @pure(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %y = func.call @layer(%p) : (tensor<64xf32>) -> tensor<64xf32>
  return %y, %w : tensor<64xf32>, tensor<64xf32>
}

func.func private @pure(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = commsched.compute "y"(%x) {commsched.runtime_ns = 50 : i64}
      : (tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// CHECK-LABEL: func.func private @layer(
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "mm"
// CHECK-NEXT: commsched.wait
func.func private @layer(%x: tensor<64xf32>) -> tensor<64xf32> {
  %f = commsched.all_reduce %x on @g reduction(sum)
      {commsched.name = "reduce", commsched.runtime_ns = 30 : i64}
      : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<64xf32>>
  %m = commsched.compute "mm"(%x) {commsched.runtime_ns = 40 : i64}
      : (tensor<64xf32>) -> tensor<64xf32>
  %y = commsched.compute "add"(%m, %w) {commsched.runtime_ns = 0 : i64}
      : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
