// RUN: %rows %s | commsched-opt -commsched-bucket-all-gather -commsched-bucket-reduce-scatter | FileCheck %s

// Whoever makes these buckets casts before it packs what is gathered, converts
// what it has packed to be scattered, and copies each gathered tensor by itself.
module attributes {commsched.separate_copies} {

commsched.group @dp size(4)

// CHECK-LABEL: @gathers
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK: %[[X:.*]] = arith.truncf %[[A]]
// CHECK: %[[Y:.*]] = arith.truncf %[[B]]
// CHECK: commsched.all_gather_copy_in %[[X]], %[[Y]] on @dp
// CHECK-NOT: commsched.kernels
// CHECK: commsched.split_with_sizes_copy
// CHECK-SAME: commsched.kernels = 2 : i64
func.func @gathers(%a: tensor<4xf32>, %b: tensor<8xf32>) -> (tensor<16xbf16>, tensor<32xbf16>) {
  %x = arith.truncf %a : tensor<4xf32> to tensor<4xbf16>
  $run(%v0 = all_gather %x on @dp dim(0) : tensor<4xbf16> -> tensor<16xbf16>)
  %y = arith.truncf %b : tensor<8xf32> to tensor<8xbf16>
  $run(%v1 = all_gather %y on @dp dim(0) : tensor<8xbf16> -> tensor<32xbf16>)
  return %v0, %v1 : tensor<16xbf16>, tensor<32xbf16>
}

// CHECK-LABEL: @scatters
// CHECK-SAME: (%[[A:.*]]: tensor<4xbf16>, %[[B:.*]]: tensor<8xbf16>)
// CHECK-NOT: arith.extf
// CHECK: commsched.chunk_cat %[[A]], %[[B]] on @dp
// CHECK-SAME: commsched.kernels = 2 : i64
func.func @scatters(%a: tensor<4xbf16>, %b: tensor<8xbf16>) -> (tensor<1xf32>, tensor<2xf32>) {
  %x = arith.extf %a : tensor<4xbf16> to tensor<4xf32>
  $run(%v0 = reduce_scatter %x on @dp reduction(sum) dim(0) : tensor<4xf32> -> tensor<1xf32>)
  %y = arith.extf %b : tensor<8xbf16> to tensor<8xf32>
  $run(%v1 = reduce_scatter %y on @dp reduction(sum) dim(0) : tensor<8xf32> -> tensor<2xf32>)
  return %v0, %v1 : tensor<1xf32>, tensor<2xf32>
}

// One of them is not cast, so that no kernel converts all that is packed.
// CHECK-LABEL: @scatters_of_two_kinds
// CHECK: arith.extf
// CHECK: commsched.chunk_cat
// CHECK-NOT: commsched.kernels
// CHECK: return
func.func @scatters_of_two_kinds(%a: tensor<4xbf16>, %b: tensor<8xf32>)
    -> (tensor<1xf32>, tensor<2xf32>) {
  %x = arith.extf %a : tensor<4xbf16> to tensor<4xf32>
  $run(%v0 = reduce_scatter %x on @dp reduction(sum) dim(0) : tensor<4xf32> -> tensor<1xf32>)
  $run(%v1 = reduce_scatter %b on @dp reduction(sum) dim(0) : tensor<8xf32> -> tensor<2xf32>)
  return %v0, %v1 : tensor<1xf32>, tensor<2xf32>
}

}
