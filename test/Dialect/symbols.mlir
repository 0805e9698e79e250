// RUN: commsched-opt --symbol-dce %s | FileCheck %s

// Collectives use their group, which must outlive them.

// CHECK: commsched.group "private" @used
commsched.group "private" @used size(2)
// CHECK-NOT: @unused
commsched.group "private" @unused size(2)
// CHECK: commsched.group "private" @at_barrier
commsched.group "private" @at_barrier size(2)
// CHECK: commsched.group "private" @of_rank
commsched.group "private" @of_rank size(2)
// CHECK: commsched.group @public
commsched.group @public size(2)

func.func @collectives(%x: tensor<4xf32>) -> (tensor<4xf32>, index) {
  %0 = commsched.all_reduce %x on @used reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<4xf32>>
  commsched.barrier on @at_barrier
  %2 = commsched.rank on @of_rank : index
  return %1, %2 : tensor<4xf32>, index
}
