// What is left as it is, and the remark that says why.
// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -split-input-file -o %t.before
// RUN: commsched-opt %t.mlir -split-input-file -verify-diagnostics \
// RUN:   --commsched-split=chunks=3 %remarks -o %t.after
// RUN: diff %t.before %t.after

commsched.group @tp size(4)
func.func @row(%x: tensor<16x32xf32>, %d: tensor<?x32xf32>, %b: tensor<64x32xf32>,
               %v: tensor<32x64xf32>, %w: tensor<64x8xf32>) {
  ROW
  return
}

// -----

  // expected-remark@below {{'ag': not split: 3 chunks do not divide the 16 elements along the axis of commsched.all_gather 'ag' (}}
  $run(%g = all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> tensor<64x32xf32>)
  %h = commsched.compute "aten.mm"(%g, %v) {split = "m k, k n -> m n"} : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>

  // expected-remark-re@below {{'ag': not split: mm_in_place 'mm' ({{.*}}) has an effect}}
  $run(%g = all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> tensor<64x32xf32>)
  // expected-remark@below {{SplitEnd}}
  %h = commsched.compute "mm_in_place"(%g, %v) {mutates = array<i64: 1>, flops = 1.0e9, split = "m k, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>

  // expected-remark-re@below {{'ag': not split: aten.mm 'mm' ({{.*}}) adds up over dimension 0: partial sums are not the same bit for bit}}
  $run(%g = all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> tensor<64x32xf32>)
  // expected-remark@below {{SplitEnd}}
  %h = commsched.compute "aten.mm"(%g, %w) {split = "k _, k n -> _ n", commsched.name = "mm"} : (tensor<64x32xf32>, tensor<64x8xf32>) -> tensor<32x8xf32>

  // expected-remark-re@below {{'ag': not split: commsched.all_gather 'ag' ({{.*}}) has a value of unknown size}}
  $run(%g = all_gather %d on @tp dim(0) {commsched.name = "ag"}
      : tensor<?x32xf32> -> tensor<?x32xf32>)
  %h = commsched.compute "aten.mm"(%g, %v) {split = "_ k, k n -> _ n"} : (tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>

  // expected-remark-re@below {{'ag': not split: commsched.all_gather 'ag' ({{.*}}) writes into a given buffer}}
  $run(%g = all_gather %x on @tp dim(0) into %b {commsched.name = "ag"}
      : tensor<16x32xf32> into tensor<64x32xf32> -> tensor<64x32xf32>)
  %h = commsched.compute "aten.mm"(%g, %v) {split = "m k, k n -> m n"} : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>

  // expected-remark-re@below {{'ag': not split: commsched.all_gather 'ag' ({{.*}}) names an implementation}}
  $run(%g = all_gather %x on @tp dim(0) {commsched.implementation = "nccl", commsched.name = "ag"}
      : tensor<16x32xf32> -> tensor<64x32xf32>)
  %h = commsched.compute "aten.mm"(%g, %v) {split = "m k, k n -> m n"} : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>

  // expected-remark@below {{'ag': not split: no product or attention divides along with it}}
  $run(%g = all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> tensor<64x32xf32>)
