// RUN: commsched-opt %s --convert-commsched-to-runtime | FileCheck %s

// What a loop carries gets another layout than what it begins with, and a cast
// wherever it is used: the start and its wait stay one pair.

commsched.group @dp size(2)

// CHECK-LABEL: func.func @sums(
// CHECK: scf.for
// CHECK: call @commsched_start
// CHECK: call @commsched_wait
func.func @sums(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = scf.for %i = %zero to %n step %one iter_args(%carried = %x) -> (tensor<4xf32>) {
    %future = commsched.all_reduce %carried on @dp reduction(sum)
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %sum = commsched.wait %future : !commsched.future<tensor<4xf32>>
    %empty = tensor.empty() : tensor<4xf32>
    %next = linalg.add ins(%sum, %carried : tensor<4xf32>, tensor<4xf32>)
        outs(%empty : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}
