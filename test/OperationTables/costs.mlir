// RUN: commsched-opt %s --commsched-estimate-runtime | FileCheck %s
// RUN: sed 's/dense<0> : tensor<i32>/dense<120> : tensor<i32>/; s/dense<10> : tensor<i32>/dense<130> : tensor<i32>/; s/tensor<i32>/tensor<ui8>/g' %s \
// RUN:   | commsched-opt --commsched-estimate-runtime | FileCheck %s

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<8x256x512xf32>, %b: tensor<8x512x256xf32>,
                    %image: tensor<8x64x64x128xf32>, %weights: tensor<3x3x128x256xf32>) {
  // CHECK: "stablehlo.dot_general"{{.*}}commsched.runtime_ns = [[BATCHED:[0-9]+]]
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<8x256x512xf32>, tensor<8x512x256xf32>) -> tensor<8x256x256xf32>
  %init = tensor.empty() : tensor<8x256x256xf32>
  // CHECK: linalg.batch_matmul {commsched.runtime_ns = [[BATCHED]] : i64}
  %1 = linalg.batch_matmul ins(%a, %b : tensor<8x256x512xf32>, tensor<8x512x256xf32>) outs(%init : tensor<8x256x256xf32>) -> tensor<8x256x256xf32>
  // CHECK: "stablehlo.convolution"{{.*}}commsched.runtime_ns = [[CONV:[0-9]+]]
  %2 = "stablehlo.convolution"(%image, %weights) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<0> : tensor<2x2xi64>, window_strides = array<i64: 1, 1>}> : (tensor<8x64x64x128xf32>, tensor<3x3x128x256xf32>) -> tensor<8x62x62x256xf32>
  %image_init = tensor.empty() : tensor<8x62x62x256xf32>
  // CHECK: linalg.conv_2d_nhwc_hwcf {commsched.runtime_ns = [[CONV]] : i64}
  %3 = linalg.conv_2d_nhwc_hwcf ins(%image, %weights : tensor<8x64x64x128xf32>, tensor<3x3x128x256xf32>) outs(%image_init : tensor<8x62x62x256xf32>) -> tensor<8x62x62x256xf32>
  return
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<4096x4096xf32>, %row: tensor<1x4096xf32>, %i: tensor<i32>) -> tensor<4096x4096xf32> {
  // CHECK: "stablehlo.reshape"{{.*}}commsched.runtime_ns = 0
  %0 = "stablehlo.reshape"(%x) : (tensor<4096x4096xf32>) -> tensor<16777216xf32>
  // CHECK: "stablehlo.transpose"{{.*}}commsched.runtime_ns = [[COPY:[0-9]+]]
  %1 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  // CHECK: "stablehlo.tanh"{{.*}}commsched.runtime_ns = [[COPY]]
  %2 = "stablehlo.tanh"(%1) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  // A row is read, and a row is written in place.
  // CHECK: "stablehlo.dynamic_slice"{{.*}}commsched.runtime_ns = [[ROW:[0-9]+]]
  %3 = "stablehlo.dynamic_slice"(%x, %i, %i) <{slice_sizes = array<i64: 1, 4096>}> : (tensor<4096x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4096xf32>
  // CHECK: "stablehlo.dynamic_update_slice"{{.*}}commsched.runtime_ns = [[ROW]]
  %4 = "stablehlo.dynamic_update_slice"(%2, %row, %i, %i) : (tensor<4096x4096xf32>, tensor<1x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x4096xf32>
  return %4 : tensor<4096x4096xf32>
}

// A loop's time is that of its body for each iteration, a branch's that of the
// longest one.
// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<4096x4096xf32>, %choice: tensor<i1>) -> tensor<4096x4096xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  // CHECK: "stablehlo.while"
  %0:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %y: tensor<4096x4096xf32>):
    %end = "stablehlo.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32>
    // CHECK: "stablehlo.compare"{{.*}}commsched.runtime_ns = [[SMALL:[0-9]+]]
    %c = "stablehlo.compare"(%i, %end) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %y: tensor<4096x4096xf32>):
    %one = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    // CHECK: "stablehlo.exponential"{{.*}}commsched.runtime_ns = [[#LONG:]] : i64
    %z = "stablehlo.exponential"(%y) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    "stablehlo.return"(%next, %z) : (tensor<i32>, tensor<4096x4096xf32>) -> ()
  // Five iterations with a comparison and an addition of 1 us each.
  // CHECK: }) {commsched.runtime_ns = [[#mul(5, LONG + 2000)]] : i64}
  }) : (tensor<i32>, tensor<4096x4096xf32>) -> (tensor<i32>, tensor<4096x4096xf32>)
  // CHECK: "stablehlo.if"
  %1 = "stablehlo.if"(%choice) ({
    // CHECK: "stablehlo.exponential"{{.*}}commsched.runtime_ns = [[#LONG]]
    %z = "stablehlo.exponential"(%0#1) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    "stablehlo.return"(%z) : (tensor<4096x4096xf32>) -> ()
  }, {
    "stablehlo.return"(%0#1) : (tensor<4096x4096xf32>) -> ()
  // CHECK: }) {commsched.runtime_ns = [[#LONG]] : i64}
  }) : (tensor<i1>) -> tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}
