// DEFINE: %{mode} =
// DEFINE: %{merge} = %rows %s | commsched-opt --commsched-bucket-all-gather=mode=%{mode} \
// DEFINE:   --commsched-bucket-reduce-scatter=mode=%{mode} \
// DEFINE:   --commsched-bucket-all-reduce=mode=%{mode}

// REDEFINE: %{mode} = coalesced
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,COALESCED
// REDEFINE: %{mode} = auto
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,AUTO

// Two ranks add the same at any place of a message, so that bitwise changes
// nothing.
// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather=mode=auto \
// RUN:   --commsched-bucket-reduce-scatter="bitwise mode=auto" \
// RUN:   --commsched-bucket-all-reduce="bitwise mode=auto" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AUTO

// Two channels, each of which runs the tensors of one launch in turns.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.nvls" = 0, "commsched.intra_channels" = 1>>} {

commsched.group @g size(2)

// CHECK-LABEL: func.func @two_of_each(
// CHECK-NEXT: commsched.all_gather %{{.+}}, %{{.+}} on @g dim(0)
// CHECK-NEXT: commsched.reduce_scatter %{{.+}}, %{{.+}} on @g reduction(sum) dim(0)
// CHECK-NEXT: commsched.all_reduce %{{.+}}, %{{.+}} on @g reduction(sum)
// CHECK-COUNT-3: :2 = commsched.wait
// CHECK-NEXT: return
func.func @two_of_each(%a: tensor<4xf32>, %b: tensor<2x2xf32>) -> (tensor<8xf32>, tensor<4x2xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<4xf32>, tensor<2x2xf32>) {
  $run(%w1 = all_gather %a on @g dim(0) : tensor<4xf32> -> tensor<8xf32>)
  $run(%w2 = all_gather %b on @g dim(0) : tensor<2x2xf32> -> tensor<4x2xf32>)
  $run(%w3 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w4 = reduce_scatter %b on @g reduction(sum) dim(0) : tensor<2x2xf32> -> tensor<1x2xf32>)
  $run(%w5 = all_reduce %a on @g reduction(sum) : tensor<4xf32> -> tensor<4xf32>)
  $run(%w6 = all_reduce %b on @g reduction(sum) : tensor<2x2xf32> -> tensor<2x2xf32>)
  return %w1, %w2, %w3, %w4, %w5, %w6 : tensor<8xf32>, tensor<4x2xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<4xf32>, tensor<2x2xf32>
}

// Copying ten small tensors costs less than what more than one tensor a channel
// does.
// CHECK-LABEL: func.func @ten_small(
// COALESCED-NOT: commsched.chunk_cat
// AUTO: commsched.chunk_cat
// CHECK: commsched.reduce_scatter
// CHECK-NOT: commsched.reduce_scatter
// CHECK: return
func.func @ten_small(%a: tensor<4xf32>) {
  $run(%w0 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w1 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w2 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w3 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w4 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w5 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w6 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w7 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w8 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  $run(%w9 = reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
  return
}
}
