// RUN: commsched-opt %s --split-input-file --commsched-pipeline-loops=memory-budget=100%% -o %t.mlir \
// RUN:   --remarks-filter=commsched 2>&1 | FileCheck %s
// RUN: commsched-opt %s --split-input-file -o %t.before.mlir
// RUN: diff %t.before.mlir %t.mlir

// Loops that stay as they are, and the remarks that say why.

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=dynamic | {{.*}}: an iteration takes 80 ns, and nothing that fits {{[0-9]+}} bytes is shorter; 80 ns are the least, for the circle of commsched.all_reduce, commsched.wait, f"
func.func @dynamic(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %f = commsched.all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=chain | {{.*}}: its 4 iterations take 320 ns, and nothing that fits {{[0-9]+}} bytes is shorter; 80 ns are the least, for the circle of commsched.all_reduce, commsched.wait, f"
func.func @chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %f = commsched.all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=once | {{.*}}: it has 1 iterations, and 2 would be in progress at once"
func.func @once(%x: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %f = commsched.all_reduce %s on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=swapped | {{.*}}yields an argument of its body as another one, which is then two iterations old"
func.func @swapped(%x: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x, %p = %s) -> (tensor<8xf32>, tensor<8xf32>) {
    %f = commsched.all_reduce %p on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b, %a : tensor<8xf32>, tensor<8xf32>
  }
  return %y#0 : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// The numbers hold within a block, which would have those of two iterations.
// CHECK: remark: [Missed] LoopKept | {{.*}}Function=ordered | {{.*}}has a fixed place in the order of collectives, which iterations that overlap do not keep"
func.func @ordered(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<8xf32>) {
    %f = commsched.all_reduce %a on @dp reduction(sum) {commsched.order = 0 : i64, commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %g = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 1 : i64, commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %s = commsched.wait %g : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%r, %s) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// Nothing moves across what may communicate.
// CHECK: remark: [Missed] LoopKept | {{.*}}Function=barrier | {{.*}}: its 4 iterations take 340 ns, {{.*}}; 85 ns are the least, for the circle of commsched.all_reduce, commsched.wait, f, func.call"
func.func private @unknown(tensor<8xf32>) -> tensor<8xf32>
func.func @barrier(%x: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %f = commsched.all_reduce %s on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %c = func.call @unknown(%b) {commsched.runtime_ns = 5 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    scf.yield %c : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=unsigned | {{.*}}: its bounds are compared without sign"
func.func @unsigned(%x: tensor<8xf32>, %s: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for unsigned %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %f = commsched.all_reduce %s on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=passed_on | {{.*}}: it yields value 1 without computing it; canonicalize it before"
func.func @passed_on(%x: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x, %p = %s) -> (tensor<8xf32>, tensor<8xf32>) {
    %f = commsched.all_reduce %p on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b, %p : tensor<8xf32>, tensor<8xf32>
  }
  return %y#0 : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=never | {{.*}}: it has 0 iterations, and 2 would be in progress at once"
func.func @never(%x: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c1 to %c0 step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %f = commsched.all_reduce %s on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=until | {{.*}}: it may end early: tensor.extract decides, and not a comparison of a counter with a bound"
func.func @until(%x: tensor<8xi1>) -> tensor<8xi1> {
  %c0 = arith.constant 0 : index
  %y = scf.while (%a = %x) : (tensor<8xi1>) -> tensor<8xi1> {
    %goes_on = tensor.extract %a[%c0] : tensor<8xi1>
    scf.condition(%goes_on) %a : tensor<8xi1>
  } do {
  ^bb0(%a: tensor<8xi1>):
    %f = commsched.all_reduce %a on @dp reduction(min) {commsched.runtime_ns = 30 : i64} : tensor<8xi1> -> !commsched.future<tensor<8xi1>>
    %w = commsched.wait %f : !commsched.future<tensor<8xi1>>
    scf.yield %w : tensor<8xi1>
  }
  return %y : tensor<8xi1>
}

// -----

commsched.group @dp size(8)

// CHECK: remark: [Missed] LoopKept | {{.*}}Function=counter | {{.*}}: its counter is used behind it"
// CHECK: remark: [Missed] LoopKept | {{.*}}Function=down | {{.*}}: its step is not a positive constant"
// CHECK: remark: [Missed] LoopKept | {{.*}}Function=to | {{.*}}: it does not count from one bound to another by a step"
// CHECK: remark: [Missed] LoopKept | {{.*}}Function=parallel | {{.*}}: loops of this kind are not pipelined: scf.forall"
func.func @counter(%x: tensor<8xf32>) -> (index, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n, %y = scf.while (%i = %c0, %a = %x) : (index, tensor<8xf32>) -> (index, tensor<8xf32>) {
    %goes_on = arith.cmpi slt, %i, %c4 : index
    scf.condition(%goes_on) %i, %a : index, tensor<8xf32>
  } do {
  ^bb0(%i: index, %a: tensor<8xf32>):
    %f = commsched.all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %w : index, tensor<8xf32>
  }
  return %n, %y : index, tensor<8xf32>
}

func.func @down(%x: tensor<8xf32>, %step: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n, %y = scf.while (%i = %c0, %a = %x) : (index, tensor<8xf32>) -> (index, tensor<8xf32>) {
    %goes_on = arith.cmpi slt, %i, %c4 : index
    scf.condition(%goes_on) %i, %a : index, tensor<8xf32>
  } do {
  ^bb0(%i: index, %a: tensor<8xf32>):
    %f = commsched.all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %next = arith.addi %i, %step : index
    scf.yield %next, %w : index, tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

func.func @to(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n, %y = scf.while (%i = %c0, %a = %x) : (index, tensor<8xf32>) -> (index, tensor<8xf32>) {
    %goes_on = arith.cmpi ne, %i, %c4 : index
    scf.condition(%goes_on) %i, %a : index, tensor<8xf32>
  } do {
  ^bb0(%i: index, %a: tensor<8xf32>):
    %f = commsched.all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %w : index, tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

func.func @parallel(%x: tensor<8xf32>) {
  scf.forall (%i) in (4) {
    %f = commsched.all_reduce %x on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<8xf32>>
  }
  return
}
