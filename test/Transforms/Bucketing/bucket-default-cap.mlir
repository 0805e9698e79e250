// RUN: commsched-opt %s --commsched-bucket-all-gather \
// RUN:   --commsched-bucket-reduce-scatter --commsched-bucket-all-reduce \
// RUN:   | FileCheck %s
// RUN: commsched-opt %s --commsched-inductor-pipeline="passes=simple_overlap \
// RUN:   bucket_all_gathers_fx=all bucket_reduce_scatters_fx=all \
// RUN:   bucket_all_reduces_fx=all" | FileCheck %s

// Two members of 1000 MiB fit exactly into a bucket of the default size; with
// one element more they do not.

commsched.group @g size(2)

// CHECK-LABEL: func.func @all_gathers(
// CHECK-COUNT-1: commsched.all_gather %
// CHECK-NOT: commsched.all_gather %
func.func @all_gathers(%a: tensor<131072000xf32>, %b: tensor<131072000xf32>) -> (tensor<262144000xf32>, tensor<262144000xf32>) {
  %f1 = commsched.all_gather %a on @g dim(0) : tensor<131072000xf32> -> !commsched.future<tensor<262144000xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) : tensor<131072000xf32> -> !commsched.future<tensor<262144000xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<262144000xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<262144000xf32>>
  return %w1, %w2 : tensor<262144000xf32>, tensor<262144000xf32>
}

// CHECK-LABEL: func.func @large_all_gathers(
// CHECK-COUNT-2: commsched.all_gather %
func.func @large_all_gathers(%a: tensor<131072000xf32>, %b: tensor<131072001xf32>) -> (tensor<262144000xf32>, tensor<262144002xf32>) {
  %f1 = commsched.all_gather %a on @g dim(0) : tensor<131072000xf32> -> !commsched.future<tensor<262144000xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) : tensor<131072001xf32> -> !commsched.future<tensor<262144002xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<262144000xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<262144002xf32>>
  return %w1, %w2 : tensor<262144000xf32>, tensor<262144002xf32>
}

// CHECK-LABEL: func.func @reduce_scatters(
// CHECK-COUNT-1: commsched.reduce_scatter %
// CHECK-NOT: commsched.reduce_scatter %
func.func @reduce_scatters(%a: tensor<262144000xf32>, %b: tensor<262144000xf32>) -> (tensor<131072000xf32>, tensor<131072000xf32>) {
  %f1 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<262144000xf32> -> !commsched.future<tensor<131072000xf32>>
  %f2 = commsched.reduce_scatter %b on @g reduction(sum) dim(0) : tensor<262144000xf32> -> !commsched.future<tensor<131072000xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<131072000xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<131072000xf32>>
  return %w1, %w2 : tensor<131072000xf32>, tensor<131072000xf32>
}

// CHECK-LABEL: func.func @large_reduce_scatters(
// CHECK-COUNT-2: commsched.reduce_scatter %
func.func @large_reduce_scatters(%a: tensor<262144000xf32>, %b: tensor<262144002xf32>) -> (tensor<131072000xf32>, tensor<131072001xf32>) {
  %f1 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : tensor<262144000xf32> -> !commsched.future<tensor<131072000xf32>>
  %f2 = commsched.reduce_scatter %b on @g reduction(sum) dim(0) : tensor<262144002xf32> -> !commsched.future<tensor<131072001xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<131072000xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<131072001xf32>>
  return %w1, %w2 : tensor<131072000xf32>, tensor<131072001xf32>
}

// CHECK-LABEL: func.func @all_reduces(
// CHECK-COUNT-1: commsched.all_reduce %
// CHECK-NOT: commsched.all_reduce %
func.func @all_reduces(%a: tensor<262144000xf32>, %b: tensor<262144000xf32>) -> (tensor<262144000xf32>, tensor<262144000xf32>) {
  %f1 = commsched.all_reduce %a on @g reduction(sum) : tensor<262144000xf32> -> !commsched.future<tensor<262144000xf32>>
  %f2 = commsched.all_reduce %b on @g reduction(sum) : tensor<262144000xf32> -> !commsched.future<tensor<262144000xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<262144000xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<262144000xf32>>
  return %w1, %w2 : tensor<262144000xf32>, tensor<262144000xf32>
}

// CHECK-LABEL: func.func @large_all_reduces(
// CHECK-COUNT-2: commsched.all_reduce %
func.func @large_all_reduces(%a: tensor<262144000xf32>, %b: tensor<262144001xf32>) -> (tensor<262144000xf32>, tensor<262144001xf32>) {
  %f1 = commsched.all_reduce %a on @g reduction(sum) : tensor<262144000xf32> -> !commsched.future<tensor<262144000xf32>>
  %f2 = commsched.all_reduce %b on @g reduction(sum) : tensor<262144001xf32> -> !commsched.future<tensor<262144001xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<262144000xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<262144001xf32>>
  return %w1, %w2 : tensor<262144000xf32>, tensor<262144001xf32>
}
