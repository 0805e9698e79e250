// RUN: commsched-opt %s --convert-stablehlo-to-commsched | FileCheck %s

// A start has the name of its location, with a number if it is not the first,
// or the one that it came with.

// CHECK: commsched.permute {{.*}} {commsched.name = "jit(f)/ppermute", stablehlo.named,
// CHECK: commsched.permute {{.*}} {commsched.name = "jit(f)/ppermute.1", stablehlo.named,
// CHECK: commsched.permute {{.*}} {commsched.name = "permute.0", stablehlo.properties
// CHECK: commsched.permute {{.*}} {commsched.name = "permute.1", stablehlo.named,
func.func @names(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32> loc("jit(f)/ppermute"("f.py":3:4))
  %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32> loc("jit(f)/ppermute"("f.py":3:4))
  %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> {commsched.name = "permute.0"} : (tensor<2xf32>) -> tensor<2xf32> loc("jit(f)/ppermute"("f.py":3:4))
  %3 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}
