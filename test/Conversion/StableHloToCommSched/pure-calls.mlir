// RUN: commsched-opt %s --convert-stablehlo-to-commsched | FileCheck %s

// CHECK-LABEL: func.func @callers(
func.func @callers(%x: tensor<2xf32>) {
  // CHECK: call @leaf(%{{.*}}) {commsched.pure}
  %0 = func.call @leaf(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: call @twice(%{{.*}}) {commsched.pure}
  %1 = func.call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: call @communicates(%{{.*}}) :
  %2 = func.call @communicates(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: call @in_a_branch(%{{.*}}) :
  %3 = func.call @in_a_branch(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: call @even(%{{.*}}) :
  %4 = func.call @even(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK: call @external(%{{.*}}) :
  %5 = func.call @external(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

func.func private @external(tensor<2xf32>) -> tensor<2xf32>

func.func private @leaf(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.add"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: call @leaf(%{{.*}}) {commsched.pure}
  %0 = func.call @leaf(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = func.call @leaf(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

func.func private @communicates(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

func.func private @in_a_branch(%x: tensor<2xf32>) -> tensor<2xf32> {
  %p = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    %1 = func.call @communicates(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "stablehlo.return"(%1) : (tensor<2xf32>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<2xf32>) -> ()
  }) : (tensor<i1>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Functions that call each other may not return.

func.func private @even(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @odd(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @odd(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @even(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
