// What is left as it is, and the remark that says why.
// RUN: commsched-opt %s --commsched-split=chunks=3 --remarks-filter=commsched 2>%t.remarks | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s < %t.remarks

// IR-NOT: commsched.chunk

commsched.group @tp size(4)

// CHECK: Function=does_not_divide | Remark="commsched.all_gather 'ag': not split: 3 chunks do not divide the 16 elements along the axis of commsched.all_gather 'ag' ({{.*}}not-split.mlir:
func.func @does_not_divide(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w) {split = "m k, k n -> m n"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// CHECK: Function=effects | Remark="commsched.all_gather 'ag': not split: mm_in_place 'mm' ({{.*}}not-split.mlir:{{[0-9]+:[0-9]+}}) has an effect
func.func @effects(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "mm_in_place"(%g, %w) {mutates = array<i64: 1>, flops = 1.0e9, split = "m k, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// CHECK: Function=sum | Remark="commsched.all_gather 'ag': not split: aten.mm 'mm' ({{.*}}) adds up over dimension 0: partial sums are not the same bit for bit
func.func @sum(%x: tensor<16x32xf32>, %w: tensor<64x8xf32>) -> tensor<32x8xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w) {split = "k _, k n -> _ n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<64x8xf32>) -> tensor<32x8xf32>
  return %h : tensor<32x8xf32>
}

// CHECK: Function=unknown | Remark="commsched.all_gather 'ag': not split: commsched.all_gather 'ag' ({{.*}}) has a value of unknown size
func.func @unknown(%x: tensor<?x32xf32>, %w: tensor<32x64xf32>) -> tensor<?x64xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<?x32xf32> -> !commsched.future<tensor<?x32xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<?x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w) {split = "_ k, k n -> _ n", commsched.name = "mm"}
      : (tensor<?x32xf32>, tensor<32x64xf32>) -> tensor<?x64xf32>
  return %h : tensor<?x64xf32>
}

// CHECK: Function=into | Remark="commsched.all_gather 'ag': not split: commsched.all_gather 'ag' ({{.*}}) writes into a given buffer
func.func @into(%x: tensor<16x32xf32>, %b: tensor<64x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %f = commsched.all_gather %x on @tp dim(0) into %b {commsched.name = "ag"}
      : tensor<16x32xf32> into tensor<64x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w) {split = "m k, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// CHECK: Function=implementation | Remark="commsched.all_gather 'ag': not split: commsched.all_gather 'ag' ({{.*}}) names an implementation
func.func @implementation(%x: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.implementation = "nccl", commsched.name = "ag"}
      : tensor<16x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64x32xf32>>
  %h = commsched.compute "aten.mm"(%g, %w) {split = "m k, k n -> m n", commsched.name = "mm"}
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  return %h : tensor<64x64xf32>
}

// CHECK: Function=alone | Remark="commsched.all_gather 'ag': not split: no product or attention divides along with it
func.func @alone(%x: tensor<16x33xf32>) -> tensor<64x33xf32> {
  %f = commsched.all_gather %x on @tp dim(0) {commsched.name = "ag"}
      : tensor<16x33xf32> -> !commsched.future<tensor<64x33xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<64x33xf32>>
  return %g : tensor<64x33xf32>
}
