// RUN: split-file %s %t
// RUN: commsched-opt %t/loop.mlir --commsched-accumulate-gradients="micro-batches=0 memory-budget=100%%" \
// RUN:   | FileCheck %t/loop.mlir --implicit-check-not=func.func --implicit-check-not=scf.for
// RUN: commsched-opt %t/loop.mlir -o /dev/null --remarks-filter=commsched 2>&1 \
// RUN:   --commsched-accumulate-gradients="micro-batches=0 memory-budget=100%%" \
// RUN:   | FileCheck %t/loop.mlir --check-prefix=REMARK
// RUN: commsched-opt %t/bounds.mlir --split-input-file -o %t/kept.mlir --remarks-filter=commsched 2>&1 \
// RUN:   --commsched-accumulate-gradients=micro-batches=0 | FileCheck %t/bounds.mlir
// RUN: commsched-opt %t/bounds.mlir --split-input-file | diff - %t/kept.mlir

// Micro-batches that are a loop of the step around the calls of their parts.

//--- loop.mlir

// The parameter is gathered once, and the sum of three gradients is reduced: it
// begins with the first of them. The last loss stays.

// REMARK: GradientsAccumulated | {{.*}}MicroBatches=3, {{.*}}Remark="3 micro-batches run by keeping parameters and reducing once, for a budget of
// CHECK-LABEL: func.func @step(
// CHECK: %[[M:.+]]:2 = call @micro_batches(%arg0, %arg1{{.*}})
// CHECK-NEXT: call @optimizer(%arg0, %[[M]]#0)
// CHECK-NEXT: return {{.*}}, %[[M]]#1
// CHECK-LABEL: func.func private @micro_batches(
// CHECK: tensor.extract_slice
// CHECK: commsched.all_gather
// CHECK-NOT: commsched.all_gather
// CHECK-COUNT-2: tensor.extract_slice
// CHECK: commsched.reduce_scatter
// CHECK-NOT: commsched.reduce_scatter
// CHECK: func.func private @optimizer(

!t = tensor<1024x2048xf32>
!u = tensor<8192x2048xf32>
commsched.group @dp size(8)

func.func @step(
    %w: !t {commsched.carried = 0, commsched.role = "parameter"},
    %x: tensor<24576x2048xf32> {commsched.role = "input"}) -> (!t, !u) {
  %zero = arith.constant dense<0.0> : !t
  %none = arith.constant dense<0.0> : !u
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 8192 : index
  %c3 = arith.constant 24576 : index
  %d, %l = scf.for %i = %c0 to %c3 step %c1
      iter_args(%sum = %zero, %last = %none) -> (!t, !u) {
    %b = tensor.extract_slice %x[%i, 0] [8192, 2048] [1, 1] : tensor<24576x2048xf32> to !u
    %g, %loss = func.call @joint(%w, %b) : (!t, !u) -> (!t, !u)
    %more = arith.addf %sum, %g : !t
    scf.yield %more, %loss : !t, !u
  }
  %n = call @optimizer(%w, %d) : (!t, !t) -> !t
  return %n, %l : !t, !u
}
func.func private @joint(%w: !t, %x: !u) -> (!t, !u) {
  %f = commsched.all_gather %w on @dp dim(0) : !t -> !commsched.future<!u>
  %p = commsched.wait %f : !commsched.future<!u>
  %y = arith.mulf %x, %p : !u
  %r = commsched.reduce_scatter %y on @dp reduction(sum) dim(0) : !u -> !commsched.future<!t>
  %g = commsched.wait %r : !commsched.future<!t>
  return %g, %y : !t, !u
}
func.func private @optimizer(%w: !t, %d: !t) -> !t {
  %n = arith.addf %w, %d : !t
  return %n : !t
}

//--- bounds.mlir

// CHECK: Remark="the step keeps its one batch: the loop around its calls has no constant bounds, but must have from 1 to 64 iterations"
func.func @step(%w: tensor<4xf32> {commsched.carried = 0}, %x: tensor<4xf32>
    {commsched.role = "input"}, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %w) -> tensor<4xf32> {
    %y = func.call @part(%sum, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  }
  %v = call @part(%w, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %v : tensor<4xf32>
}
func.func private @part(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %w, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK: Remark="the step keeps its one batch: the loop around its calls has 65 iterations, but must have from 1 to 64 iterations"
func.func @step(%w: tensor<4xf32> {commsched.carried = 0}, %x: tensor<4xf32>
    {commsched.role = "input"}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65 : index
  %d = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %w) -> tensor<4xf32> {
    %y = func.call @part(%sum, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  }
  %v = call @part(%w, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %v : tensor<4xf32>
}
func.func private @part(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %w, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
