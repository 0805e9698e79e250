// RUN: %rows %s > %t.rows && split-file %t.rows %t
// RUN: commsched-opt %t/loop.mlir --commsched-accumulate-gradients="micro-batches=0 memory-budget=100%%" \
// RUN:   | FileCheck %t/loop.mlir --implicit-check-not=func.func --implicit-check-not=scf.for
// RUN: commsched-opt %t/loop.mlir -o /dev/null --remarks-filter=commsched 2>&1 \
// RUN:   --commsched-accumulate-gradients="micro-batches=0 memory-budget=100%%" \
// RUN:   | FileCheck %t/loop.mlir --check-prefix=REMARK
// RUN: commsched-opt %t/bounds.mlir --split-input-file -o %t/kept.mlir --remarks-filter=commsched 2>&1 \
// RUN:   --commsched-accumulate-gradients=micro-batches=0 | FileCheck %t/bounds.mlir
// RUN: commsched-opt %t/bounds.mlir --split-input-file | diff - %t/kept.mlir
// RUN: commsched-opt %t/long.mlir --split-input-file --remarks-filter=commsched \
// RUN:   --commsched-accumulate-gradients="micro-batches=0 memory-budget=1GiB" 2>%t/remarks \
// RUN:   | FileCheck %t/long.mlir
// RUN: FileCheck %t/long.mlir --check-prefix=REMARK < %t/remarks
// RUN: commsched-opt %t/long.mlir --split-input-file -o /dev/null --remarks-filter=commsched \
// RUN:   --commsched-accumulate-gradients="micro-batches=0 memory-budget=1KiB" 2>&1 \
// RUN:   | FileCheck %t/long.mlir --check-prefix=TIGHT
// RUN: sed 's/^  .s = arith.truncf/commsched.compute "add_"(%w) {mutates = array<i64: 0>} : (!d) -> ()\n&/' %t/long.mlir | commsched-opt \
// RUN:   --split-input-file --commsched-accumulate-gradients="micro-batches=0 memory-budget=1GiB" | FileCheck %t/long.mlir --check-prefix=WRITTEN

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
  $run(%p = all_gather %w on @dp dim(0) : !t -> !u)
  %y = arith.mulf %x, %p : !u
  $run(%g = reduce_scatter %y on @dp reduction(sum) dim(0) : !u -> !t)
  return %g, %y : !t, !u
}
func.func private @optimizer(%w: !t, %d: !t) -> !t {
  %n = arith.addf %w, %d : !t
  return %n : !t
}

//--- bounds.mlir

LET $step_to(END)
  func.func @step(%w: tensor<4xf32> {commsched.carried = 0}, %x: tensor<4xf32>
      {commsched.role = "input"}, %n: index) -> tensor<4xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c65 = arith.constant 65 : index
    %d = scf.for %i = %c0 to END step %c1 iter_args(%sum = %w) -> tensor<4xf32> {
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

// CHECK: Remark="the step keeps its one batch: the loop around its calls has no constant bounds, but must have from 1 to 64 iterations"
$step_to(%n)

// -----

// CHECK: Remark="the step keeps its one batch: the loop around its calls has 65 iterations, but must have from 1 to 64 iterations"
$step_to(%c65)

//--- long.mlir

// A loop that stays: the parameter, which is cast first, is gathered before it, and
// one sum is reduced behind it. Another sum, which begins with a gradient, is added
// to that; one that something else uses is reduced in each iteration.

// REMARK: GradientsAccumulated | {{.*}}KeepsGathers=true, MicroBatches=0, {{.*}}Remark="the loop of micro-batches runs by keeping parameters and reducing once
// TIGHT: GradientsAccumulated | {{.*}}KeepsGathers=false, {{.*}}Remark="the loop of micro-batches runs by gathering again and reducing each time
// WRITTEN: scf.for
// WRITTEN: commsched.all_gather
// CHECK-LABEL: func.func private @micro_batches(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2x4xf64>
// CHECK: arith.truncf %[[W]]
// CHECK: commsched.all_gather
// CHECK: %[[L:.+]]:3 = scf.for {{.*}} -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>)
// CHECK-NOT: commsched.all_gather
// CHECK-COUNT-1: commsched.reduce_scatter
// CHECK-NOT: commsched.reduce_scatter
// CHECK: scf.yield
// CHECK: commsched.reduce_scatter %[[L]]#0
// CHECK: commsched.reduce_scatter %[[L]]#1

!t = tensor<2x4xf32>
!u = tensor<8x4xf32>
!d = tensor<2x4xf64>
commsched.group @dp size(4)
func.func @step(%w: !d {commsched.carried = 0, commsched.role = "parameter"},
    %x: tensor<528x4xf32> {commsched.role = "input"}) -> !d {
  %zero = arith.constant dense<0.0> : !t
  %half = arith.constant dense<0.5> : !t
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 528 : index
  %a, %b, %c = scf.for %i = %c0 to %n step %c8
      iter_args(%p = %zero, %q = %half, %r = %zero) -> (!t, !t, !t) {
    %y = tensor.extract_slice %x[%i, 0] [8, 4] [1, 1] : tensor<528x4xf32> to !u
    %g:3 = func.call @part(%w, %y, %r) : (!d, !u, !t) -> (!t, !t, !t)
    %p1 = arith.addf %p, %g#0 : !t
    %q1 = arith.addf %g#1, %q : !t
    %r1 = arith.addf %r, %g#2 : !t
    scf.yield %p1, %q1, %r1 : !t, !t, !t
  }
  %v = call @optimizer(%w, %a, %b, %c) : (!d, !t, !t, !t) -> !d
  return %v : !d
}
func.func private @part(%w: !d, %y: !u, %r: !t) -> (!t, !t, !t) {
  %s = arith.truncf %w : !d to !t
  $run(%g = all_gather %s on @dp dim(0) : !t -> !u)
  %m = arith.mulf %y, %g : !u
  $run(%d0 = reduce_scatter %m on @dp reduction(sum) dim(0) : !u -> !t)
  %k = arith.addf %m, %y : !u
  $run(%d1 = reduce_scatter %k on @dp reduction(avg) dim(0) : !u -> !t)
  %h = arith.mulf %k, %y : !u
  $run(%d2 = reduce_scatter %h on @dp reduction(sum) dim(0) : !u -> !t)
  %e = arith.mulf %d2, %r : !t
  return %d0, %d1, %e : !t, !t, !t
}
func.func private @optimizer(%w: !d, %a: !t, %b: !t, %c: !t) -> !d {
  %s = arith.addf %a, %b : !t
  %u = arith.addf %s, %c : !t
  %e = arith.extf %u : !t to !d
  %n = arith.addf %w, %e : !d
  return %n : !d
}
