// RUN: commsched-opt %s --commsched-pipeline-loops=memory-budget=100%% | FileCheck %s
// RUN: commsched-opt %s --commsched-pipeline-loops='memory-budget=100%% merge-gathers=false' \
// RUN:   | FileCheck %s --check-prefix=APART

// The latency of two gathers limits the loop: merged, they take one.

commsched.group @dp size(64) ranks_per_node(8)

// CHECK: scf.for
// CHECK: commsched.all_gather %{{[^ ]+}}, %{{[^ ]+}} on @dp
// CHECK-NOT: commsched.all_gather
// CHECK: scf.yield
// APART: scf.for
// APART-COUNT-2: commsched.all_gather
// APART: scf.yield
func.func @layers(%x: tensor<256x256xf32>, %a: tensor<32x4x256xf32>, %b: tensor<32x4x256xf32>)
    -> tensor<256x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %y = scf.for %i = %c0 to %c32 step %c1 iter_args(%v = %x) -> tensor<256x256xf32> {
    %s = tensor.extract_slice %a[%i, 0, 0] [1, 4, 256] [1, 1, 1] : tensor<32x4x256xf32> to tensor<4x256xf32>
    %f = commsched.all_gather %s on @dp dim(0) : tensor<4x256xf32> -> !commsched.future<tensor<256x256xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<256x256xf32>>
    %v1 = commsched.compute "mm"(%v, %w) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %t = tensor.extract_slice %b[%i, 0, 0] [1, 4, 256] [1, 1, 1] : tensor<32x4x256xf32> to tensor<4x256xf32>
    %g = commsched.all_gather %t on @dp dim(0) : tensor<4x256xf32> -> !commsched.future<tensor<256x256xf32>>
    %u = commsched.wait %g : !commsched.future<tensor<256x256xf32>>
    %v2 = commsched.compute "mm"(%v1, %u) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    scf.yield %v2 : tensor<256x256xf32>
  }
  return %y : tensor<256x256xf32>
}
