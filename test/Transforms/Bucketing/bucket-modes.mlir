// DEFINE: %{mode} =
// DEFINE: %{merge} = commsched-opt %s --commsched-bucket-all-gather=mode=%{mode} \
// DEFINE:   --commsched-bucket-reduce-scatter=mode=%{mode} \
// DEFINE:   --commsched-bucket-all-reduce=mode=%{mode}

// REDEFINE: %{mode} = coalesced
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,COALESCED
// REDEFINE: %{mode} = auto
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,AUTO

// A bitwise bucket is a coalesced one, whatever the mode.
// RUN: commsched-opt %s --commsched-bucket-all-gather=mode=coalesced \
// RUN:   --commsched-bucket-reduce-scatter="bitwise mode=copy" \
// RUN:   --commsched-bucket-all-reduce="bitwise mode=auto" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,COALESCED

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
  %f1 = commsched.all_gather %a on @g dim(0) : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) : tensor<2x2xf32> -> !commsched.future<tensor<4x2xf32>>
  %f3 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f4 = commsched.reduce_scatter %b on @g reduction(sum) dim(0) : tensor<2x2xf32> -> !commsched.future<tensor<1x2xf32>>
  %f5 = commsched.all_reduce %a on @g reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %f6 = commsched.all_reduce %b on @g reduction(sum) : tensor<2x2xf32> -> !commsched.future<tensor<2x2xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<8xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4x2xf32>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<2xf32>>
  %w4 = commsched.wait %f4 : !commsched.future<tensor<1x2xf32>>
  %w5 = commsched.wait %f5 : !commsched.future<tensor<4xf32>>
  %w6 = commsched.wait %f6 : !commsched.future<tensor<2x2xf32>>
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
  %f0 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f1 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f2 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f3 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f4 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f5 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f6 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f7 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f8 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %f9 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %w0 = commsched.wait %f0 : !commsched.future<tensor<2xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<2xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<2xf32>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<2xf32>>
  %w4 = commsched.wait %f4 : !commsched.future<tensor<2xf32>>
  %w5 = commsched.wait %f5 : !commsched.future<tensor<2xf32>>
  %w6 = commsched.wait %f6 : !commsched.future<tensor<2xf32>>
  %w7 = commsched.wait %f7 : !commsched.future<tensor<2xf32>>
  %w8 = commsched.wait %f8 : !commsched.future<tensor<2xf32>>
  %w9 = commsched.wait %f9 : !commsched.future<tensor<2xf32>>
  return
}
}
