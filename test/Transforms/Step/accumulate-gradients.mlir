// RUN: commsched-opt %s --commsched-accumulate-gradients="micro-batches=3 memory-budget=100%%" \
// RUN:   | %orders | FileCheck %s --enable-var-scope --implicit-check-not=func.func
// RUN: commsched-opt %s -o /dev/null --remarks-filter=commsched \
// RUN:   --commsched-accumulate-gradients="micro-batches=3 memory-budget=100%%" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s -o /dev/null --remarks-filter=commsched \
// RUN:   --commsched-accumulate-gradients="micro-batches=3 memory-budget=1KiB" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TIGHT
// RUN: commsched-opt %s --commsched-accumulate-gradients --test-commsched-merge-step \
// RUN:   | FileCheck %s --check-prefix=MERGED --implicit-check-not=func.func

// Three micro-batches gather the parameter once, where memory allows it, and
// reduce each gradient: the reduction of a sum takes as long as the model of the
// machine says, which is longer than what is pinned here.

// REMARK: GradientsAccumulated | {{.*}}KeepsGathers=true, MicroBatches=3, {{.*}}Remark="3 micro-batches run by keeping parameters and reducing each time, for a budget of 1703968: gathering again and reducing each time takes 3455 ns and 1605640 bytes; keeping parameters and reducing each time takes 3394 ns and 1409036 bytes; {{.*}}StepNs=3394, SumsFirst=false
// TIGHT: GradientsAccumulated | {{.*}}BudgetBytes=1024,

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<32x256xf32> {commsched.carried = 3 : i64, commsched.name = "w", commsched.role = "parameter"},
// CHECK-SAME: %[[X0:[a-z0-9]+]]: tensor<64x256xf32> {commsched.name = "x", commsched.role = "input"},
// CHECK-SAME: %[[R:[a-z0-9]+]]: f32,
// CHECK-SAME: %[[X1:[a-z0-9]+]]: tensor<64x256xf32> {commsched.name = "x.1", commsched.role = "input"},
// CHECK-SAME: %[[X2:[a-z0-9]+]]: tensor<64x256xf32> {commsched.name = "x.2", commsched.role = "input"})
// CHECK-SAME: -> (tensor<f32> {commsched.name = "loss"}, tensor<f32> {commsched.name = "loss.1"}, tensor<f32> {commsched.name = "loss.2"}, tensor<32x256xf32>, f32)
// CHECK: %[[Y:.+]] = math.sqrt %[[R]]
// CHECK-NEXT: %[[M:.+]]:4 = call @micro_batches(%[[W]], %[[X0]], %[[X1]], %[[X2]])
// CHECK-NEXT: %[[N:.+]] = call @optimizer(%[[W]], %[[M]]#0, %[[Y]])
// CHECK-NEXT: return %[[M]]#1, %[[M]]#2, %[[M]]#3, %[[N]], %[[Y]]

// CHECK-LABEL: func.func private @micro_batches(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<32x256xf32> {commsched.name = "w", commsched.role = "parameter"},
// CHECK-SAME: tensor<64x256xf32> {commsched.name = "x", commsched.role = "input"},
// CHECK-SAME: tensor<64x256xf32> {commsched.name = "x.1", commsched.role = "input"},
// CHECK-SAME: tensor<64x256xf32> {commsched.name = "x.2", commsched.role = "input"})
// CHECK-SAME: -> (tensor<32x256xf32>, tensor<f32> {commsched.name = "loss"}, tensor<f32> {commsched.name = "loss.1"}, tensor<f32> {commsched.name = "loss.2"})
// CHECK-NEXT: // order: {{.*}}all_gather wait mm loss mm reduce_scatter wait mm loss mm reduce_scatter wait arith.addf mm loss mm reduce_scatter wait arith.addf{{$}}
// CHECK: func.func private @optimizer(

// MERGED: func.func @step(

!t = tensor<32x256xf32>
!u = tensor<64x256xf32>
commsched.group @dp size(8)

func.func @step(
    %w: !t {commsched.carried = 1 : i64, commsched.name = "w", commsched.role = "parameter"},
    %x: !u {commsched.name = "x", commsched.role = "input"}, %rate: f32)
    -> (tensor<f32> {commsched.name = "loss"}, !t, f32) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %l, %v, %y = call @forward(%w, %x) : (!t, !u) -> (tensor<f32>, !t, !u)
  %d = call @backward(%v, %y, %one) : (!t, !u, tensor<f32>) -> !t
  %root = math.sqrt %rate : f32
  %n = call @optimizer(%v, %d, %root) : (!t, !t, f32) -> !t
  return %l, %n, %root : tensor<f32>, !t, f32
}

func.func private @forward(%w: !t {commsched.role = "parameter"}, %x: !u
    {commsched.role = "input"}) -> (tensor<f32>, !t, !u) {
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 300 : i64} : !t -> !commsched.future<tensor<256x256xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
  %y = commsched.compute "mm"(%x, %g) {commsched.runtime_ns = 100 : i64} : (!u, tensor<256x256xf32>) -> !u
  %l = commsched.compute "loss"(%y) {commsched.runtime_ns = 10 : i64} : (!u) -> tensor<f32>
  return %l, %w, %y : tensor<f32>, !t, !u
}

func.func private @backward(%w: !t {commsched.role = "parameter"}, %y: !u
    {commsched.role = "saved_activation"}, %t: tensor<f32>
    {commsched.role = "tangent"}) -> !t {
  %f = commsched.all_gather %w on @dp dim(0) {commsched.runtime_ns = 300 : i64} : !t -> !commsched.future<tensor<256x256xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
  %d = commsched.compute "mm"(%y, %g, %t) {commsched.runtime_ns = 200 : i64} : (!u, tensor<256x256xf32>, tensor<f32>) -> tensor<256x256xf32>
  %r = commsched.reduce_scatter %d on @dp reduction(sum) dim(0) {commsched.runtime_ns = 400 : i64} : tensor<256x256xf32> -> !commsched.future<!t>
  %s = commsched.wait %r : !commsched.future<!t>
  return %s : !t
}

func.func private @optimizer(%w: !t, %d: !t, %rate: f32) -> !t {
  %n = commsched.compute "adam"(%w, %d, %rate) {commsched.runtime_ns = 5 : i64} : (!t, !t, f32) -> !t
  return %n : !t
}
