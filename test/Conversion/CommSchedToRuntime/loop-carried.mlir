// RUN: commsched-opt %s --convert-commsched-to-runtime | FileCheck %s

// What a loop carries may get another layout than what it begins with, and a
// cast wherever it is used: the start and its wait stay one pair.

commsched.group @dp size(2)

// CHECK-LABEL: func.func @slices(
// CHECK: scf.for
// CHECK: call @commsched_start
// CHECK: call @commsched_wait
func.func @slices(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = scf.for %i = %zero to %n step %one iter_args(%carried = %x)
      -> (tensor<4xf32>) {
    %future = commsched.all_gather %carried on @dp dim(0)
        : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
    %all = commsched.wait %future : !commsched.future<tensor<8xf32>>
    %half = tensor.extract_slice %all[2] [4] [1]
        : tensor<8xf32> to tensor<4xf32>
    scf.yield %half : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}
