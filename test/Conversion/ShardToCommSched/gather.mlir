// RUN: commsched-opt %s --convert-shard-to-commsched | FileCheck %s

shard.grid @grid(shape = 2x4)

// What is annotated moves on to the start.

// CHECK-LABEL: func.func @all_gather(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//       CHECK:   %[[F:.*]] = commsched.all_gather %[[X]] on @grid_axes_1 dim(1)
//  CHECK-SAME:     {commsched.name = "weights", commsched.runtime_ns = 7 : i64}
//  CHECK-SAME:     : tensor<2x8xi8> -> !commsched.future<tensor<2x32xi8>>
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @all_gather(%x: tensor<2x8xi8>) -> tensor<2x32xi8> {
  %0 = shard.all_gather %x on @grid grid_axes = [1] gather_axis = 1
      {commsched.name = "weights", commsched.runtime_ns = 7 : i64}
      : tensor<2x8xi8> -> tensor<2x32xi8>
  return %0 : tensor<2x32xi8>
}

// The order of the axes is that of the parts.

// CHECK-LABEL: func.func @all_axes(
//       CHECK:   commsched.all_gather %{{.*}} on @grid_axes_1_0 dim(0)
func.func @all_axes(%x: tensor<2x8xi8>) -> tensor<16x8xi8> {
  %0 = shard.all_gather %x on @grid grid_axes = [1, 0] gather_axis = 0
      : tensor<2x8xi8> -> tensor<16x8xi8>
  return %0 : tensor<16x8xi8>
}

// Nothing is defined but the root's result, so all may have it.

// CHECK-LABEL: func.func @gather(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//       CHECK:   %[[F:.*]] = commsched.all_gather %[[X]] on @grid_axes_0 dim(0)
//  CHECK-SAME:     : tensor<2x8xi8> -> !commsched.future<tensor<4x8xi8>>
//  CHECK-NEXT:   %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:   return %[[Y]]
func.func @gather(%x: tensor<2x8xi8>) -> tensor<4x8xi8> {
  %0 = shard.gather %x on @grid grid_axes = [0] gather_axis = 0 root = [1]
      : (tensor<2x8xi8>) -> tensor<4x8xi8>
  return %0 : tensor<4x8xi8>
}

// Without axes, every device is a group of its own.

// CHECK-LABEL: func.func @alone(
//  CHECK-SAME:   %[[X:.*]]: tensor<2x8xi8>
//  CHECK-NEXT:   return %[[X]], %[[X]]
func.func @alone(%x: tensor<2x8xi8>) -> (tensor<2x8xi8>, tensor<2x8xi8>) {
  %0 = shard.all_gather %x on @grid gather_axis = 0
      : tensor<2x8xi8> -> tensor<2x8xi8>
  %1 = shard.gather %x on @grid gather_axis = 0 root = []
      : (tensor<2x8xi8>) -> tensor<2x8xi8>
  return %0, %1 : tensor<2x8xi8>, tensor<2x8xi8>
}

// Collectives in regions have start and wait there.

// CHECK-LABEL: func.func @nested(
//       CHECK:   scf.if
//  CHECK-NEXT:     %[[F:.*]] = commsched.all_gather
//  CHECK-NEXT:     %[[Y:.*]] = commsched.wait %[[F]]
//  CHECK-NEXT:     scf.yield %[[Y]]
func.func @nested(%c: i1, %x: tensor<2xi8>, %y: tensor<8xi8>) -> tensor<8xi8> {
  %0 = scf.if %c -> tensor<8xi8> {
    %1 = shard.all_gather %x on @grid grid_axes = [1] gather_axis = 0
        : tensor<2xi8> -> tensor<8xi8>
    scf.yield %1 : tensor<8xi8>
  } else {
    scf.yield %y : tensor<8xi8>
  }
  return %0 : tensor<8xi8>
}
