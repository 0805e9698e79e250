// RUN: commsched-opt %s --convert-stablehlo-to-commsched | FileCheck %s

// Start and wait take the places of the pair, and what is annotated on its two
// operations and on the collective between is kept.

// CHECK-LABEL: func.func @pair(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x32xf32>
// CHECK: %[[F:.*]] = commsched.all_reduce %[[X]] on @replica_groups_0 reduction(sum)
// CHECK-SAME: {commsched.name = "all_reduce.0", inner = 2 : i64, stablehlo.async = {attributes = {outer = 1 : i64}}, stablehlo.named, stablehlo.properties = {replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>}}
// CHECK-NEXT: %[[Y:.*]] = "stablehlo.add"
// CHECK-NEXT: %[[W:.*]] = commsched.wait %[[F]] {last = 3 : i64}
// CHECK-NEXT: return %[[Y]], %[[W]]
func.func @pair(%x: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%p: tensor<8x32xf32>):
    %3 = "stablehlo.all_reduce"(%p) <{
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    }> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) {inner = 2 : i64} : (tensor<8x32xf32>) -> tensor<8x32xf32>
    "stablehlo.return"(%3) : (tensor<8x32xf32>) -> ()
  }) {outer = 1 : i64} : (tensor<8x32xf32>) -> !stablehlo.future<tensor<8x32xf32>>
  %1 = "stablehlo.add"(%x, %x) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %2 = "stablehlo.async_done"(%0) {last = 3 : i64}
    : (!stablehlo.future<tensor<8x32xf32>>) -> tensor<8x32xf32>
  return %1, %2 : tensor<8x32xf32>, tensor<8x32xf32>
}

// An unannotated pair is known by an empty mark.

// CHECK-LABEL: func.func @several(
// CHECK: %[[F:.*]] = commsched.all_gather %{{.*}}, %{{.*}} on @replica_groups_0 dim(0)
// CHECK-SAME: stablehlo.async = {}
// CHECK-NEXT: %[[W:.*]]:2 = commsched.wait %[[F]]
// CHECK-SAME: : !commsched.future<tensor<4xf32>, tensor<6xi8>>
// CHECK-NEXT: return %[[W]]#0, %[[W]]#1
func.func @several(%x: tensor<2xf32>, %y: tensor<3xi8>) -> (tensor<4xf32>, tensor<6xi8>) {
  %0 = "stablehlo.async_start"(%x, %y) ({
  ^bb0(%p: tensor<2xf32>, %q: tensor<3xi8>):
    %3:2 = "stablehlo.all_gather"(%p, %q) <{
      all_gather_dim = 0 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>
    }> : (tensor<2xf32>, tensor<3xi8>) -> (tensor<4xf32>, tensor<6xi8>)
    "stablehlo.return"(%3#0, %3#1) : (tensor<4xf32>, tensor<6xi8>) -> ()
  }) : (tensor<2xf32>, tensor<3xi8>) -> !stablehlo.future<tensor<4xf32>, tensor<6xi8>>
  %1:2 = "stablehlo.async_done"(%0)
    : (!stablehlo.future<tensor<4xf32>, tensor<6xi8>>) -> (tensor<4xf32>, tensor<6xi8>)
  return %1#0, %1#1 : tensor<4xf32>, tensor<6xi8>
}
