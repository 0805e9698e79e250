// RUN: commsched-opt %s --split-input-file \
// RUN:   --commsched-pipeline-loops=memory-budget=100%% | FileCheck %s
// RUN: commsched-opt %s --split-input-file -o /dev/null \
// RUN:   --commsched-pipeline-loops=memory-budget=100%% --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// A loop with a condition that counts, as compilers write scans over layers: it
// carries its counter, and passes the stacked parameters on.

commsched.group @dp size(8)

// REMARK: LoopPipelined | {{.*}}Function=scan | {{.*}}Depth=2, {{.*}}PeriodNsAfter=50, PeriodNsBefore=80
// CHECK-LABEL: func.func @scan(
// CHECK-SAME:      %[[X:[^:]+]]: {{.*}}, %[[STACKED:[^:]+]]: tensor<32x32x256xf32>)
// CHECK-NOT:     scf.while
// CHECK:         tensor.extract_slice %[[STACKED]][%{{.+}}, 0, 0]
// CHECK:         commsched.all_gather
// CHECK:         scf.for %[[I:.+]] = %{{.+}} to %c31{{.*}} step %[[C1:.+]] iter_args
// CHECK-NEXT:      %[[NEXT:.+]] = arith.addi %[[I]], %[[C1]]
// CHECK-NEXT:      tensor.extract_slice %[[STACKED]][%[[NEXT]], 0, 0]
// CHECK-NEXT:      commsched.all_gather
// CHECK-NEXT:      commsched.compute "mm"
// CHECK-NEXT:      commsched.wait
// CHECK-NEXT:      scf.yield
// CHECK:         %[[LAST:.+]] = commsched.compute "mm"
// CHECK:         return %[[LAST]], %[[STACKED]]
func.func @scan(%x: tensor<128x256xf32>, %stacked: tensor<32x32x256xf32>)
    -> (tensor<128x256xf32>, tensor<32x32x256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %n, %y, %p = scf.while (%i = %c0, %a = %x, %s = %stacked)
      : (index, tensor<128x256xf32>, tensor<32x32x256xf32>) -> (index, tensor<128x256xf32>, tensor<32x32x256xf32>) {
    %goes_on = arith.cmpi slt, %i, %c32 : index
    scf.condition(%goes_on) %i, %a, %s : index, tensor<128x256xf32>, tensor<32x32x256xf32>
  } do {
  ^bb0(%i: index, %a: tensor<128x256xf32>, %s: tensor<32x32x256xf32>):
    %shard = tensor.extract_slice %s[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x32x256xf32> to tensor<32x256xf32>
    %f = commsched.all_gather %shard on @dp dim(0) {commsched.runtime_ns = 30 : i64} : tensor<32x256xf32> -> !commsched.future<tensor<256x256xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
    %b = commsched.compute "mm"(%a, %w) {commsched.runtime_ns = 50 : i64} : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %b, %s : index, tensor<128x256xf32>, tensor<32x32x256xf32>
  }
  return %y, %p : tensor<128x256xf32>, tensor<32x32x256xf32>
}
