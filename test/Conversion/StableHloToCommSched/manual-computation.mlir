// RUN: commsched-opt %s --convert-stablehlo-to-commsched | FileCheck %s

module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {

// The body becomes a function; Forms has that it comes back. One that is donated
// and not used by anybody else may be freed there.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8xf32> {commsched.freeable, jax.buffer_donor = true}
// CHECK-SAME: %[[Y:[^:]*]]: tensor<8xf32> {commsched.freeable, tf.aliasing_output = 0 : i32}
// CHECK-SAME: %[[Z:[^:]*]]: tensor<8xf32> {jax.buffer_donor = false}
func.func @step(%x: tensor<8xf32> {jax.buffer_donor = true},
                %y: tensor<8xf32> {tf.aliasing_output = 0 : i32},
                %z: tensor<8xf32> {jax.buffer_donor = false}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = "sdy.manual_computation"(%x, %y, %z) <{manual_axes = #sdy<manual_axes{"x"}>}> ({
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
    %2 = func.call @twice(%b) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.add"(%2, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "sdy.return"(%1, %3) {kept} : (tensor<8xf32>, tensor<4xf32>) -> ()
  }) {kept} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %4 = "stablehlo.add"(%y, %z) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0#0, %4 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func private @step.manual_computation_0(
// CHECK-SAME: %[[A:[^:]*]]: tensor<4xf32> {commsched.freeable}, %[[B:[^:]*]]: tensor<4xf32>, %[[C:[^:]*]]: tensor<4xf32>)
// CHECK-SAME: -> (tensor<8xf32>, tensor<4xf32>) attributes {commsched.per_device}
// CHECK: call @twice({{.*}}) {commsched.pure}

func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A body without collectives stays where it is.

// CHECK-LABEL: func.func @local(
// CHECK: "sdy.manual_computation"
// CHECK: "stablehlo.add"
func.func @local(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "sdy.manual_computation"(%x) <{manual_axes = #sdy<manual_axes{"x"}>}> ({
  ^bb0(%a: tensor<4xf32>):
    %1 = "stablehlo.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "sdy.return"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Around a loop, the closest one is outlined; two have two names; values from
// outside of the body become arguments.

// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>
// CHECK: func.call @two.manual_computation_0(%{{.*}}, %[[X]])
// CHECK: func.call @two.manual_computation_1(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
func.func @two(%x: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "sdy.manual_computation"(%x) <{manual_axes = #sdy<manual_axes{}>}> ({
  ^bb0(%a: tensor<4xf32>):
    %1 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.add"(%1, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "sdy.return"(%2) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "sdy.manual_computation"(%x) <{manual_axes = #sdy<manual_axes{}>}> ({
  ^bb0(%a: tensor<4xf32>):
    %4 = "stablehlo.while"(%a) ({
    ^bb0(%b: tensor<4xf32>):
      %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%b: tensor<4xf32>):
      %5 = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%5) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    "sdy.return"(%4) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %3 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func private @two.manual_computation_1(
// CHECK: "stablehlo.while"
// CHECK: commsched.permute
// CHECK-LABEL: func.func private @two.manual_computation_0(
// CHECK-SAME: %[[A:[^:]*]]: tensor<4xf32>, %[[X:[^:]*]]: tensor<4xf32>)
// CHECK: "stablehlo.add"(%{{.*}}, %[[X]])

// What is called may hold the collectives.

// CHECK-LABEL: func.func @calls(
// CHECK: call @calls.manual_computation_0(%{{.*}})
// CHECK-LABEL: func.func private @calls.manual_computation_0(
// CHECK: call @layer(
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "sdy.manual_computation"(%x) <{manual_axes = #sdy<manual_axes{}>}> ({
  ^bb0(%a: tensor<4xf32>):
    %1 = func.call @layer(%a) : (tensor<4xf32>) -> tensor<4xf32>
    "sdy.return"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @exchange(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @exchange(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

}
