// RUN: commsched-opt %s --split-input-file \
// RUN:   --commsched-pipeline-loops='memory-budget=100%% unroll=4' | FileCheck %s
// RUN: commsched-opt %s --split-input-file -o /dev/null \
// RUN:   --commsched-pipeline-loops='memory-budget=100%% unroll=4' --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s --split-input-file -o /dev/null \
// RUN:   --commsched-pipeline-loops='memory-budget=100%% unroll=1' --remarks-filter=commsched 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SHORT

// Two iterations are fewer than would be in progress at once: unrolled, they
// overlap all the same.

commsched.group @dp size(8)

// REMARK: LoopUnrolled | {{.*}}Function=two | {{.*}}Remark="unrolled, its 2 iterations take 290 ns instead of 380, {{.*}}RunNsAfter=290, RunNsBefore=380
// SHORT: LoopKept | {{.*}}Function=two | {{.*}}: it has 2 iterations, and 3 would be in progress at once
// CHECK-LABEL: func.func @two(
// CHECK-SAME:      %[[X:[^:]+]]: {{.*}}, %[[STACKED:[^:]+]]: tensor<32x32x256xf32>)
// CHECK-NOT:     scf.for
// CHECK:         %[[START0:.+]] = commsched.all_gather {{.*}}commsched.name = "gather.iteration.0"
// CHECK:         %[[START1:.+]] = commsched.all_gather {{.*}}commsched.name = "gather.iteration.1"
// CHECK:         %[[W0:.+]] = commsched.wait %[[START0]]
// CHECK:         %[[B0:.+]] = commsched.compute "mm"(%[[X]], %[[W0]])
// CHECK:         %[[W1:.+]] = commsched.wait %[[START1]]
// CHECK:         %[[B1:.+]] = commsched.compute "mm"(%[[B0]], %[[W1]])
// CHECK:         %[[T0:.+]] = tensor.insert_slice %{{.+}} into %[[STACKED]][%{{.+}}, 0, 0]
// CHECK:         %[[T1:.+]] = tensor.insert_slice %{{.+}} into %[[T0]][%{{.+}}, 0, 0]
// CHECK:         return %[[B1]], %[[T1]]
func.func @two(%x: tensor<256x256xf32>, %stacked: tensor<32x32x256xf32>)
    -> (tensor<256x256xf32>, tensor<32x32x256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x, %s = %stacked) -> (tensor<256x256xf32>, tensor<32x32x256xf32>) {
    %shard = tensor.extract_slice %stacked[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x32x256xf32> to tensor<32x256xf32>
    %f = commsched.all_gather %shard on @dp dim(0) {commsched.runtime_ns = 40 : i64, commsched.name = "gather"} : tensor<32x256xf32> -> !commsched.future<tensor<256x256xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
    %b = commsched.compute "mm"(%a, %w) {commsched.runtime_ns = 100 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %g = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) {commsched.runtime_ns = 50 : i64} : tensor<256x256xf32> -> !commsched.future<tensor<32x256xf32>>
    %d = commsched.wait %g : !commsched.future<tensor<32x256xf32>>
    %t = tensor.insert_slice %d into %s[%i, 0, 0] [1, 32, 256] [1, 1, 1] {commsched.runtime_ns = 0 : i64} : tensor<32x256xf32> into tensor<32x32x256xf32>
    scf.yield %b, %t : tensor<256x256xf32>, tensor<32x32x256xf32>
  }
  return %y#0, %y#1 : tensor<256x256xf32>, tensor<32x32x256xf32>
}
