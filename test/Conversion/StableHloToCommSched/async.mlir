// RUN: commsched-opt %s --convert-stablehlo-to-commsched | FileCheck %s

// Several tensors. An unannotated pair is known by an empty mark.

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
