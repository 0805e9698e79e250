// RUN: commsched-test-opt %s --commsched-bucket=mode=copy -split-input-file -verify-diagnostics=only-expected %remarks | FileCheck %s

// A remark for what cannot be merged although its kind could, and no change.

commsched.group @dp size(4)

// CHECK-LABEL: func.func @kinds(
// CHECK-NOT: commsched.all_gather_copy_in
func.func @kinds(%x: tensor<4xf32>) {
  commsched.barrier on @dp
  %0 = commsched.all_to_all %x on @dp split_dim(0) concat_dim(0) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %1 = commsched.broadcast %x on @dp root(0) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %2 = commsched.permute %x on @dp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %3 = commsched.send %x on @dp to(1) : tensor<4xf32> -> !commsched.future
  %4 = commsched.recv on @dp from(0) : !commsched.future<tensor<4xf32>>
  %5 = commsched.wait %0 : !commsched.future<tensor<4xf32>>
  %6 = commsched.wait %1 : !commsched.future<tensor<4xf32>>
  %7 = commsched.wait %2 : !commsched.future<tensor<4xf32>>
  commsched.wait %3 : !commsched.future
  %8 = commsched.wait %4 : !commsched.future<tensor<4xf32>>
  return
}

// -----

commsched.group @dp size(4)

// CHECK-LABEL: func.func @shapes(
// CHECK-NOT: commsched.all_gather_copy_in
func.func @shapes(%a: tensor<?xf32>, %b: tensor<0x2xf32>, %c: tensor<4xf32, "layout">, %d: tensor<4x4xf32>, %e: tensor<4xf32>) {
  // expected-remark@below {{it has a dynamic shape}}
  %0 = commsched.all_gather %a on @dp dim(0) : tensor<?xf32> -> !commsched.future<tensor<?xf32>>
  // expected-remark@below {{it has a dynamic shape}}
  %1 = commsched.all_gather %e on @dp dim(0) : tensor<4xf32> -> !commsched.future<tensor<?xf32>>
  // expected-remark@below {{its tensors are empty}}
  %2 = commsched.all_gather %b on @dp dim(0) : tensor<0x2xf32> -> !commsched.future<tensor<0x2xf32>>
  // expected-remark@below {{the encoding of its tensors would be lost in a buffer}}
  %3 = commsched.all_gather %c on @dp dim(0) : tensor<4xf32, "layout"> -> !commsched.future<tensor<16xf32, "layout">>
  // expected-remark@below {{it scatters along dimension 1, whose chunks do not lie one after the other}}
  %4 = commsched.reduce_scatter %d on @dp reduction(sum) dim(1) : tensor<4x4xf32> -> !commsched.future<tensor<4x1xf32>>
  %5 = commsched.wait %0 : !commsched.future<tensor<?xf32>>
  %6 = commsched.wait %1 : !commsched.future<tensor<?xf32>>
  %7 = commsched.wait %2 : !commsched.future<tensor<0x2xf32>>
  %8 = commsched.wait %3 : !commsched.future<tensor<16xf32, "layout">>
  %9 = commsched.wait %4 : !commsched.future<tensor<4x1xf32>>
  return
}

// -----

commsched.group @dp size(4)

// CHECK-LABEL: func.func @uncountable(
// CHECK-NOT: tensor.concat
func.func @uncountable(%a: tensor<9223372036854775807xf64>) {
  // expected-remark@below {{its size in bytes is not known}}
  %0 = commsched.all_reduce %a on @dp reduction(sum) : tensor<9223372036854775807xf64> -> !commsched.future<tensor<9223372036854775807xf64>>
  %1 = commsched.wait %0 : !commsched.future<tensor<9223372036854775807xf64>>
  return
}

// -----

commsched.group @dp size(4)

// What has been merged, in either mode, is not merged again.
// CHECK-LABEL: func.func @buckets(
// CHECK-COUNT-1: commsched.all_gather_copy_in
// CHECK-COUNT-1: commsched.chunk_cat
// CHECK-COUNT-1: tensor.concat
// CHECK-NOT: tensor.concat
func.func @buckets(%a: tensor<4xf32>, %b: tensor<16xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a, %a on @dp : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>, tensor<32xf32>
  // expected-remark@below {{it is a bucket already}}
  %0 = commsched.all_gather %slice on @dp dim(0) into %buffer : tensor<8xf32> into tensor<32xf32> -> !commsched.future<tensor<32xf32>>
  // expected-remark@below {{it is a bucket already}}
  %1 = commsched.all_gather %slice on @dp dim(0) : tensor<8xf32> -> !commsched.future<tensor<32xf32>>
  // expected-remark@below {{it is a bucket already}}
  %2 = commsched.all_gather %a, %a on @dp dim(0) : tensor<4xf32>, tensor<4xf32> -> !commsched.future<tensor<16xf32>, tensor<16xf32>>
  %cat = commsched.chunk_cat %b, %b on @dp : tensor<16xf32>, tensor<16xf32> -> tensor<32xf32>
  // expected-remark@below {{it is a bucket already}}
  %3 = commsched.reduce_scatter %cat on @dp reduction(sum) dim(0) : tensor<32xf32> -> !commsched.future<tensor<8xf32>>
  %concat = tensor.concat dim(0) %a, %b : (tensor<4xf32>, tensor<16xf32>) -> tensor<20xf32>
  // expected-remark@below {{it is a bucket already}}
  %4 = commsched.all_reduce %concat on @dp reduction(sum) : tensor<20xf32> -> !commsched.future<tensor<20xf32>>
  %5 = commsched.wait %0 : !commsched.future<tensor<32xf32>>
  %6 = commsched.wait %1 : !commsched.future<tensor<32xf32>>
  %7:2 = commsched.wait %2 : !commsched.future<tensor<16xf32>, tensor<16xf32>>
  %8 = commsched.wait %3 : !commsched.future<tensor<8xf32>>
  %9 = commsched.wait %4 : !commsched.future<tensor<20xf32>>
  return
}

// -----

commsched.group @dp size(4)

// Other concatenations pad or join what is used as one.
// CHECK-LABEL: func.func @no_buckets(
// CHECK: commsched.all_gather_copy_in
// CHECK: tensor.concat dim(0) %{{.+}}, %{{.+}} : (tensor<8xf32>, tensor<8xf32>)
func.func @no_buckets(%a: tensor<4xf32>, %b: tensor<2x2xf32>) {
  %padded = tensor.concat dim(0) %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %0 = commsched.all_gather %padded on @dp dim(0) : tensor<8xf32> -> !commsched.future<tensor<32xf32>>
  %1 = commsched.all_gather %a on @dp dim(0) : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %joined = tensor.concat dim(0) %b, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %2 = commsched.all_reduce %joined on @dp reduction(sum) : tensor<4x2xf32> -> !commsched.future<tensor<4x2xf32>>
  %3 = commsched.all_reduce %joined on @dp reduction(sum) : tensor<4x2xf32> -> !commsched.future<tensor<4x2xf32>>
  %4 = commsched.wait %0 : !commsched.future<tensor<32xf32>>
  %5 = commsched.wait %1 : !commsched.future<tensor<16xf32>>
  %6 = commsched.wait %2 : !commsched.future<tensor<4x2xf32>>
  %7 = commsched.wait %3 : !commsched.future<tensor<4x2xf32>>
  return
}
