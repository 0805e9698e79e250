// RUN: commsched-opt %s --commsched-accumulate-gradients="micro-batches=3 memory-budget=100%%" \
// RUN:   | FileCheck %s --enable-var-scope --implicit-check-not=func.func
// RUN: commsched-opt %s -o /dev/null --remarks-filter=commsched \
// RUN:   --commsched-accumulate-gradients="micro-batches=3 memory-budget=100%%" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s -o /dev/null --remarks-filter=commsched \
// RUN:   --commsched-accumulate-gradients="micro-batches=3 memory-budget=1KiB" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TIGHT
// RUN: commsched-opt %s --commsched-accumulate-gradients=name=forward --test-commsched-merge-step \
// RUN:   | FileCheck %s --check-prefix=MERGED --implicit-check-not=func.func

// Three micro-batches gather the parameter once, where memory allows it, and
// reduce each gradient: the reduction of a sum takes as long as the model of the
// machine says, which is longer than what is pinned here.

// REMARK: GradientsAccumulated | {{.*}}KeepsGathers=true, MicroBatches=3, {{.*}}Remark="3 micro-batches run by keeping parameters and reducing each time, for a budget of 1703960: gathering again and reducing each time takes 4294 ns and 1409032 bytes; keeping parameters and reducing each time takes 3394 ns and 1409032 bytes; {{.*}}StepNs=3394, SumsFirst=false
// TIGHT: GradientsAccumulated | {{.*}}BudgetBytes=1024,

// CHECK-LABEL: func.func @micro_batches(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<32x256xf32> {commsched.name = "w", commsched.role = "parameter", commsched.source = {function = @optimizer, iterations = 1 : i64, result = 0 : i64}},
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x256xf32> {commsched.name = "x", commsched.role = "input"},
// CHECK-SAME: tensor<64x256xf32> {commsched.name = "x.1", commsched.role = "input"},
// CHECK-SAME: tensor<64x256xf32> {commsched.name = "x.2", commsched.role = "input"})
// CHECK-SAME: -> (tensor<32x256xf32>, tensor<32x256xf32>, tensor<f32> {commsched.name = "loss"}, tensor<f32> {commsched.name = "loss.1"}, tensor<f32> {commsched.name = "loss.2"})
// CHECK: commsched.all_gather %[[W]]
// CHECK-NOT: commsched.all_gather
// CHECK: commsched.reduce_scatter
// CHECK: %[[A:.+]] = commsched.wait
// CHECK: commsched.reduce_scatter
// CHECK: %[[B:.+]] = commsched.wait
// CHECK: %[[AB:.+]] = arith.addf %[[A]], %[[B]]
// CHECK: commsched.reduce_scatter
// CHECK: %[[C:.+]] = commsched.wait
// CHECK: %[[ABC:.+]] = arith.addf %[[AB]], %[[C]]
// CHECK: return %[[W]], %[[ABC]],
// CHECK: func.func @optimizer(
// CHECK-SAME: commsched.source = {function = @micro_batches, result = 0 : i64}
// CHECK-SAME: commsched.source = {function = @micro_batches, result = 1 : i64}

// MERGED: func.func @step(

commsched.group @dp size(8)

func.func @forward(
    %w: tensor<32x256xf32> {commsched.name = "w", commsched.role = "parameter",
      commsched.source = {function = @optimizer, result = 0 : i64, iterations = 1 : i64}},
    %x: tensor<64x256xf32> {commsched.name = "x", commsched.role = "input"})
    -> (tensor<f32> {commsched.name = "loss"}, tensor<32x256xf32>, tensor<64x256xf32>) {
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 300 : i64} : tensor<32x256xf32> -> !commsched.future<tensor<256x256xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
  %y = commsched.compute "mm"(%x, %g) {commsched.runtime_ns = 100 : i64} : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %l = commsched.compute "loss"(%y) {commsched.runtime_ns = 10 : i64} : (tensor<64x256xf32>) -> tensor<f32>
  return %l, %w, %y : tensor<f32>, tensor<32x256xf32>, tensor<64x256xf32>
}

func.func @backward(
    %w: tensor<32x256xf32> {commsched.role = "parameter",
      commsched.source = {function = @forward, result = 1 : i64}},
    %y: tensor<64x256xf32> {commsched.role = "saved_activation",
      commsched.source = {function = @forward, result = 2 : i64}})
    -> tensor<32x256xf32> {
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 300 : i64} : tensor<32x256xf32> -> !commsched.future<tensor<256x256xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
  %d = commsched.compute "mm"(%y, %g) {commsched.runtime_ns = 200 : i64} : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %r = commsched.reduce_scatter %d on @dp reduction(sum) dim(0) {commsched.runtime_ns = 400 : i64} : tensor<256x256xf32> -> !commsched.future<tensor<32x256xf32>>
  %s = commsched.wait %r : !commsched.future<tensor<32x256xf32>>
  return %s : tensor<32x256xf32>
}

func.func @optimizer(
    %w: tensor<32x256xf32> {commsched.freeable,
      commsched.source = {function = @forward, result = 1 : i64}},
    %d: tensor<32x256xf32> {commsched.freeable,
      commsched.source = {function = @backward, result = 0 : i64}})
    -> tensor<32x256xf32> {
  %n = commsched.compute "adam"(%w, %d) {commsched.runtime_ns = 5 : i64} : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<32x256xf32>
  return %n : tensor<32x256xf32>
}
