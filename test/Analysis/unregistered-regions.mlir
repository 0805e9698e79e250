// RUN: commsched-opt %s --allow-unregistered-dialect -split-input-file \
// RUN:   -verify-diagnostics --commsched-pipeline --commsched-report -o %t.mlir > %t.report
// RUN: commsched-opt %t.mlir --allow-unregistered-dialect -split-input-file \
// RUN:   -verify-diagnostics | FileCheck %s

// A collective in a region of an operation that is not registered.

commsched.group @g size(2)

// With two regions it cannot be a symbol table. The collective stays where it
// is.

// CHECK-LABEL: @two_regions
// CHECK:         "other.branch"
// CHECK:           commsched.all_reduce %{{.*}} on @g
// CHECK:           "other.yield"
// CHECK:         commsched.all_reduce %{{.*}} on @g
func.func @two_regions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "other.branch"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %f = commsched.all_reduce %a on @g reduction(sum)
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
    "other.yield"(%w) : (tensor<4xf32>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>):
    "other.yield"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %r on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %w : tensor<4xf32>
}
