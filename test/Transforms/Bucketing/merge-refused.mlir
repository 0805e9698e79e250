// RUN: %rows %s | commsched-opt --commsched-bucket=mode=copy -verify-diagnostics=only-expected %remarks | FileCheck %s

// A remark for what cannot be merged although its kind could, and no change.

commsched.group @dp size(4)

// CHECK-LABEL: func.func @kinds(
// CHECK-NOT: commsched.all_gather_copy_in
func.func @kinds(%x: tensor<4xf32>) {
  commsched.barrier on @dp
  $run(%v0 = all_to_all %x on @dp split_dim(0) concat_dim(0) : tensor<4xf32> -> tensor<4xf32>)
  $run(%v1 = broadcast %x on @dp root(0) : tensor<4xf32> -> tensor<4xf32>)
  $run(%v2 = permute %x on @dp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : tensor<4xf32> -> tensor<4xf32>)
  %3 = commsched.send %x on @dp to(1) : tensor<4xf32> -> !commsched.future
  %4 = commsched.recv on @dp from(0) : !commsched.future<tensor<4xf32>>
  commsched.wait %3 : !commsched.future
  %5 = commsched.wait %4 : !commsched.future<tensor<4xf32>>
  return
}

// CHECK-LABEL: func.func @shapes(
// CHECK-NOT: commsched.all_gather_copy_in
func.func @shapes(%a: tensor<?xf32>, %b: tensor<0x2xf32>, %c: tensor<4xf32, "layout">, %d: tensor<4x4xf32>, %e: tensor<4xf32>) {
  // expected-remark@below {{it has a dynamic shape}}
  $run(%v0 = all_gather %a on @dp dim(0) : tensor<?xf32> -> tensor<?xf32>)
  // expected-remark@below {{it has a dynamic shape}}
  $run(%v1 = all_gather %e on @dp dim(0) : tensor<4xf32> -> tensor<?xf32>)
  // expected-remark@below {{its tensors are empty}}
  $run(%v2 = all_gather %b on @dp dim(0) : tensor<0x2xf32> -> tensor<0x2xf32>)
  // expected-remark@below {{the encoding of its tensors would be lost in a buffer}}
  $run(%v3 = all_gather %c on @dp dim(0) : tensor<4xf32, "layout"> -> tensor<16xf32, "layout">)
  // expected-remark@below {{it scatters along dimension 1, whose chunks do not lie one after the other}}
  $run(%v4 = reduce_scatter %d on @dp reduction(sum) dim(1) : tensor<4x4xf32> -> tensor<4x1xf32>)
  return
}

// CHECK-LABEL: func.func @uncountable(
// CHECK-NOT: tensor.concat
func.func @uncountable(%a: tensor<9223372036854775807xf64>) {
  // expected-remark@below {{its size in bytes is not known}}
  $run(%v0 = all_reduce %a on @dp reduction(sum) : tensor<9223372036854775807xf64> -> tensor<9223372036854775807xf64>)
  return
}

// What has been merged, in either mode, is not merged again.
// CHECK-LABEL: func.func @buckets(
// CHECK-COUNT-1: commsched.all_gather_copy_in
// CHECK-COUNT-1: commsched.chunk_cat
// CHECK-COUNT-1: tensor.concat
// CHECK-NOT: tensor.concat
func.func @buckets(%a: tensor<4xf32>, %b: tensor<16xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a, %a on @dp : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>, tensor<32xf32>
  // expected-remark@below {{it is a bucket already}}
  $run(%v0 = all_gather %slice on @dp dim(0) into %buffer : tensor<8xf32> into tensor<32xf32> -> tensor<32xf32>)
  // expected-remark@below {{it is a bucket already}}
  $run(%v1 = all_gather %slice on @dp dim(0) : tensor<8xf32> -> tensor<32xf32>)
  // expected-remark@below {{it is a bucket already}}
  %2 = commsched.all_gather %a, %a on @dp dim(0) : tensor<4xf32>, tensor<4xf32> -> !commsched.future<tensor<16xf32>, tensor<16xf32>>
  %cat = commsched.chunk_cat %b, %b on @dp : tensor<16xf32>, tensor<16xf32> -> tensor<32xf32>
  // expected-remark@below {{it is a bucket already}}
  $run(%v3 = reduce_scatter %cat on @dp reduction(sum) dim(0) : tensor<32xf32> -> tensor<8xf32>)
  %concat = tensor.concat dim(0) %a, %b : (tensor<4xf32>, tensor<16xf32>) -> tensor<20xf32>
  // expected-remark@below {{it is a bucket already}}
  $run(%v4 = all_reduce %concat on @dp reduction(sum) : tensor<20xf32> -> tensor<20xf32>)
  %7:2 = commsched.wait %2 : !commsched.future<tensor<16xf32>, tensor<16xf32>>
  return
}

// Other concatenations pad or join what is used as one.
// CHECK-LABEL: func.func @no_buckets(
// CHECK: commsched.all_gather_copy_in
// CHECK: tensor.concat dim(0) %{{.+}}, %{{.+}} : (tensor<8xf32>, tensor<8xf32>)
func.func @no_buckets(%a: tensor<4xf32>, %b: tensor<2x2xf32>) {
  %padded = tensor.concat dim(0) %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  $run(%v0 = all_gather %padded on @dp dim(0) : tensor<8xf32> -> tensor<32xf32>)
  $run(%v1 = all_gather %a on @dp dim(0) : tensor<4xf32> -> tensor<16xf32>)
  %joined = tensor.concat dim(0) %b, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  $run(%v2 = all_reduce %joined on @dp reduction(sum) : tensor<4x2xf32> -> tensor<4x2xf32>)
  $run(%v3 = all_reduce %joined on @dp reduction(sum) : tensor<4x2xf32> -> tensor<4x2xf32>)
  return
}
