// RUN: commsched-opt %s --split-input-file \
// RUN:   --commsched-pipeline-loops=memory-budget=100%% | FileCheck %s
// RUN: commsched-opt %s --split-input-file -o /dev/null \
// RUN:   --commsched-pipeline-loops=memory-budget=100%% --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// A loop whose number of iterations is not known: in its schedule where it has
// as many as are in progress at once, else as it was.

commsched.group @dp size(8)

// REMARK: LoopPipelined | {{.*}}Function=gather | {{.*}}Depth=2, LeastCount=2, {{.*}}Remark="an iteration takes 50 ns instead of 80, of at least 50, with 2 iterations in progress, {{.*}}, where it has 2 iterations or more"
// CHECK-LABEL: func.func @gather(
// CHECK-SAME:      %[[X:[^:]+]]: {{.*}} %[[N:.+]]: index)
// CHECK:         %[[SOME:.+]] = arith.cmpi sgt, %[[N]], %{{.+}} : index
// CHECK:         %[[LAST:.+]] = arith.subi %[[N]], %[[C1:.+]] : index
// CHECK:         %[[OTHERS:.+]] = arith.cmpi uge, %[[LAST]], %{{.+}} : index
// CHECK:         %[[ENOUGH:.+]] = arith.andi %[[SOME]], %[[OTHERS]]
// CHECK:         %[[Y:.+]] = scf.if %[[ENOUGH]] -> (tensor<128x256xf32>) {
// CHECK:           commsched.all_gather {{.*}}commsched.name = "gather.prologue.0"
// CHECK:           %[[END:.+]] = arith.subi %[[N]], %{{.+}} : index
// CHECK:           scf.for %{{.+}} = %{{.+}} to %[[END]] step
// CHECK:             commsched.all_gather {{.*}}commsched.name = "gather",
// CHECK:           %[[B:.+]] = commsched.compute "mm"
// CHECK:           scf.yield %[[B]]
// CHECK:         } else {
// CHECK:           %[[FEW:.+]] = scf.for %{{.+}} = %{{.+}} to %[[N]] step
// CHECK:             commsched.all_gather {{.*}}commsched.name = "gather.few"
// CHECK:           scf.yield %[[FEW]]
// CHECK:         return %[[Y]]
func.func @gather(%x: tensor<128x256xf32>, %stacked: tensor<32x32x256xf32>, %n: index)
    -> tensor<128x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<128x256xf32> {
    %shard = tensor.extract_slice %stacked[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x32x256xf32> to tensor<32x256xf32>
    %f = commsched.all_gather %shard on @dp dim(0) {commsched.runtime_ns = 30 : i64, commsched.name = "gather"} : tensor<32x256xf32> -> !commsched.future<tensor<256x256xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
    %b = commsched.compute "mm"(%a, %w) {commsched.runtime_ns = 50 : i64} : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
    scf.yield %b : tensor<128x256xf32>
  }
  return %y : tensor<128x256xf32>
}

// -----

// Bounds and step are any values; a small type does not overflow.

commsched.group @dp size(8)

// REMARK: LoopPipelined | {{.*}}Function=bounds | {{.*}}LeastCount=2
// CHECK-LABEL: func.func @bounds(
// CHECK-SAME:      %[[LOW:[^:]+]]: i8, %[[HIGH:[^:]+]]: i8, %[[STEP:[^:]+]]: i8)
// CHECK:         %[[SOME:.+]] = arith.cmpi slt, %[[LOW]], %[[HIGH]] : i8
// CHECK:         %[[DIFFERENCE:.+]] = arith.subi %[[HIGH]], %[[LOW]] : i8
// CHECK:         %[[LAST:.+]] = arith.subi %[[DIFFERENCE]], %{{.+}} : i8
// CHECK:         %[[OTHERS:.+]] = arith.divui %[[LAST]], %[[STEP]] : i8
// CHECK:         arith.cmpi uge, %[[OTHERS]], %{{.+}} : i8
// CHECK:         scf.if
// CHECK:           scf.for %{{.+}} = %[[LOW]] to %{{.+}} step %[[STEP]]
// CHECK:         else
// CHECK:           scf.for %{{.+}} = %[[LOW]] to %[[HIGH]] step %[[STEP]]
func.func @bounds(%x: tensor<8xf32>, %s: tensor<8xf32>, %low: i8, %high: i8, %step: i8) -> tensor<8xf32> {
  %y = scf.for %i = %low to %high step %step iter_args(%a = %x) -> (tensor<8xf32>) : i8 {
    %f = commsched.all_reduce %s on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %b : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}
