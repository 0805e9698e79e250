// RUN: commsched-opt %s --commsched-split="chunks=2 extent=widest" -o %t.split.mlir --remarks-filter=commsched 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s --pass-pipeline="builtin.module(func.func(tosa-to-linalg-named, tosa-to-linalg, tosa-to-arith, tosa-to-tensor))" -o %t.whole.linalg.mlir
// RUN: commsched-opt %t.split.mlir --pass-pipeline="builtin.module(func.func(tosa-to-linalg-named, tosa-to-linalg, tosa-to-arith, tosa-to-tensor))" -o %t.split.linalg.mlir
// RUN: commsched-run %t.split.linalg.mlir --compare=%t.whole.linalg.mlir --ranks 4 | FileCheck %s

// Chunks of every operation between the gather and the scatter give together
// what the whole operations give, bit for bit.

// REMARK: commsched.all_gather: split into 2 chunks together with 20 operations
// REMARK: commsched.reduce_scatter: split into 2 chunks together with 20 operations
// CHECK: equal: all 512 elements on 4 ranks

commsched.group @tp size(4)

func.func @normalize(%x: tensor<1x16x8xf32>, %w1: tensor<1x8x32xf32>, %w2: tensor<1x32x8xf32>,
                     %bias: tensor<1x1x32xf32>) -> tensor<1x16x8xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %heads = tosa.const_shape {values = dense<[8, 8, 32]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %rows = tosa.const_shape {values = dense<[1, 64, 32]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %origin = tosa.const_shape {values = dense<0> : tensor<3xindex>} : () -> !tosa.shape<3>
  %half = tosa.const_shape {values = dense<[16, 8, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %behind = tosa.const_shape {values = dense<[0, 0, 0, 0, 2, 0]> : tensor<6xindex>} : () -> !tosa.shape<6>
  %second = tosa.const_shape {values = dense<[0, 0, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %twice = tosa.const_shape {values = dense<[1, 1, 2]> : tensor<3xindex>} : () -> !tosa.shape<3>

  %f = commsched.all_gather %x on @tp dim(1) : tensor<1x16x8xf32> -> !commsched.future<tensor<1x64x8xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<1x64x8xf32>>
  %0 = tosa.matmul %g, %w1, %zero, %zero : (tensor<1x64x8xf32>, tensor<1x8x32xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x32xf32>
  %1 = tosa.add %0, %bias : (tensor<1x64x32xf32>, tensor<1x1x32xf32>) -> tensor<1x64x32xf32>
  %2 = tosa.reshape %1, %heads : (tensor<1x64x32xf32>, !tosa.shape<3>) -> tensor<8x8x32xf32>
  %3 = tosa.reduce_max %2 {axis = 2 : i32} : (tensor<8x8x32xf32>) -> tensor<8x8x1xf32>
  %4 = tosa.sub %2, %3 : (tensor<8x8x32xf32>, tensor<8x8x1xf32>) -> tensor<8x8x32xf32>
  %5 = tosa.exp %4 : (tensor<8x8x32xf32>) -> tensor<8x8x32xf32>
  %6 = tosa.reduce_sum %5 {axis = 2 : i32} : (tensor<8x8x32xf32>) -> tensor<8x8x1xf32>
  %7 = tosa.reciprocal %6 : (tensor<8x8x1xf32>) -> tensor<8x8x1xf32>
  %8 = tosa.tile %7, %twice : (tensor<8x8x1xf32>, !tosa.shape<3>) -> tensor<8x8x2xf32>
  %9 = tosa.reduce_max %8 {axis = 2 : i32} : (tensor<8x8x2xf32>) -> tensor<8x8x1xf32>
  %10 = tosa.mul %5, %9, %shift : (tensor<8x8x32xf32>, tensor<8x8x1xf32>, tensor<1xi8>) -> tensor<8x8x32xf32>
  %11 = tosa.transpose %10 {perms = array<i32: 2, 0, 1>} : (tensor<8x8x32xf32>) -> tensor<32x8x8xf32>
  %12 = tosa.slice %11, %origin, %half : (tensor<32x8x8xf32>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<16x8x8xf32>
  %13 = tosa.reverse %12 {axis = 0 : i32} : (tensor<16x8x8xf32>) -> tensor<16x8x8xf32>
  %14 = tosa.concat %12, %13 {axis = 0 : i32} : (tensor<16x8x8xf32>, tensor<16x8x8xf32>) -> tensor<32x8x8xf32>
  %15 = tosa.transpose %14 {perms = array<i32: 1, 2, 0>} : (tensor<32x8x8xf32>) -> tensor<8x8x32xf32>
  %16 = tosa.pad %15, %behind, %zero : (tensor<8x8x32xf32>, !tosa.shape<6>, tensor<1xf32>) -> tensor<8x8x34xf32>
  %size = tosa.const_shape {values = dense<[8, 8, 32]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %17 = tosa.slice %16, %second, %size : (tensor<8x8x34xf32>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<8x8x32xf32>
  %18 = tosa.reshape %17, %rows : (tensor<8x8x32xf32>, !tosa.shape<3>) -> tensor<1x64x32xf32>
  %19 = tosa.matmul %18, %w2, %zero, %zero : (tensor<1x64x32xf32>, tensor<1x32x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x8xf32>
  %r = commsched.reduce_scatter %19 on @tp reduction(sum) dim(1) : tensor<1x64x8xf32> -> !commsched.future<tensor<1x16x8xf32>>
  %o = commsched.wait %r : !commsched.future<tensor<1x16x8xf32>>
  return %o : tensor<1x16x8xf32>
}
