// The least of the ladder saves %big, which the softmax that is marked seems to
// need in the backward, and computes %y from it. Nothing in the backward needs the
// softmax: the budget is kept by what stands before the least, which saves %y.

// RUN: %rows %s | commsched-opt --commsched-partition-joint=activation-memory-budget=0.5 \
// RUN:   %remarks -o /dev/null 2>&1 | FileCheck %s

// CHECK-NOT: PartitionOverBudget
// CHECK: remark: [Passed] Partitioned
// CHECK-SAME: SavedBytes=65536
// CHECK-NOT: PartitionOverBudget

!t = tensor<1024x16xf32>
!u = tensor<1024x1024xf32>

func.func @f(%x: !u $in, %v: !t $parameter, %x2: tensor<1024x64xf32> $in, %v2: tensor<64x32xf32> $parameter,
    %t: tensor<16x1024xf32> $tangent, %t2: tensor<32x1024xf32> $tangent) -> (!u, !t, tensor<1024x32xf32>,
    tensor<16x16xf32>, tensor<32x32xf32>) attributes {commsched.num_forward_outputs = 3} {
  %big = commsched.compute "aten.mm"(%x, %x) {commsched.recompute = "must_save"} : (!u, !u) -> !u
  %s = commsched.compute "aten._softmax"(%big) {commsched.recompute = "must_recompute"} : (!u) -> !u
  %y = commsched.compute "aten.mm"(%big, %v) : (!u, !t) -> !t
  %y2 = commsched.compute "aten.mm"(%x2, %v2)
      : (tensor<1024x64xf32>, tensor<64x32xf32>) -> tensor<1024x32xf32>
  %r = commsched.compute "aten.mm"(%t, %y) : (tensor<16x1024xf32>, !t) -> tensor<16x16xf32>
  %r2 = commsched.compute "aten.mm"(%t2, %y2)
      : (tensor<32x1024xf32>, tensor<1024x32xf32>) -> tensor<32x32xf32>
  return %s, %y, %y2, %r, %r2 : !u, !t, tensor<1024x32xf32>, tensor<16x16xf32>, tensor<32x32xf32>
}
