// DEFINE: %{cap} =
// DEFINE: %{merge} = %rows %s | commsched-opt --commsched-bucket-all-gather=cap-mb=%{cap} \
// DEFINE:   --commsched-bucket-reduce-scatter=cap-mb=%{cap} \
// DEFINE:   --commsched-bucket-all-reduce=cap-mb=%{cap}

// 256, 255 and 127 bytes.
// REDEFINE: %{cap} = 0.000244140625
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,MERGED
// REDEFINE: %{cap} = 0.00024318695068359375
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,ALONE
// REDEFINE: %{cap} = 0.00012111663818359375
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,ALONE

// Two members of 128 bytes fit exactly into 256. What counts of a member is the
// larger of what it sends and delivers.

commsched.group @g size(4)

// CHECK-LABEL: func.func @all_gathers(
// MERGED-COUNT-1: commsched.all_gather %
// ALONE-COUNT-2: commsched.all_gather %
// CHECK-NOT: commsched.all_gather %
func.func @all_gathers(%a: tensor<8xf32>, %b: tensor<2x4xf32>) -> (tensor<32xf32>, tensor<8x4xf32>) {
  $run(%w1 = all_gather %a on @g dim(0) : tensor<8xf32> -> tensor<32xf32>)
  $run(%w2 = all_gather %b on @g dim(0) : tensor<2x4xf32> -> tensor<8x4xf32>)
  return %w1, %w2 : tensor<32xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @reduce_scatters(
// MERGED-COUNT-1: commsched.reduce_scatter %
// ALONE-COUNT-2: commsched.reduce_scatter %
// CHECK-NOT: commsched.reduce_scatter %
func.func @reduce_scatters(%a: tensor<32xf32>, %b: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<2x4xf32>) {
  $run(%w1 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<32xf32> -> tensor<8xf32>)
  $run(%w2 = reduce_scatter %b on @g reduction(sum) dim(0) : tensor<8x4xf32> -> tensor<2x4xf32>)
  return %w1, %w2 : tensor<8xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: func.func @all_reduces(
// MERGED-COUNT-1: commsched.all_reduce %
// ALONE-COUNT-2: commsched.all_reduce %
// CHECK-NOT: commsched.all_reduce %
// CHECK: return
func.func @all_reduces(%a: tensor<32xf32>, %b: tensor<8x4xf32>) -> (tensor<32xf32>, tensor<8x4xf32>) {
  $run(%w1 = all_reduce %a on @g reduction(sum) : tensor<32xf32> -> tensor<32xf32>)
  $run(%w2 = all_reduce %b on @g reduction(sum) : tensor<8x4xf32> -> tensor<8x4xf32>)
  return %w1, %w2 : tensor<32xf32>, tensor<8x4xf32>
}
