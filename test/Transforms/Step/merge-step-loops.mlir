// RUN: commsched-opt %s --convert-stablehlo-to-commsched --commsched-set-costs=assume-fusion \
// RUN:   --test-commsched-merge-step=keep-parts --mlir-print-op-generic | FileCheck %s
// RUN: commsched-opt %s --convert-stablehlo-to-commsched --test-commsched-merge-step=keep-parts \
// RUN:   --mlir-print-op-generic | FileCheck %s --check-prefix=APART

// What a loop calls is merged, over any number of calls. So is what is called
// beside other operations, in private functions, too; but not a call that is alone
// in its block. What does not communicate is merged where the compiler that fuses
// it merges it.

// CHECK:       sym_name = "main"
// CHECK:       "stablehlo.while"
// CHECK-NOT:   "func.call"
// CHECK:         %[[SUM:.+]] = "commsched.wait"
// CHECK-NEXT:    %[[TWICE:.+]] = "stablehlo.multiply"(%[[SUM]], %[[SUM]])
// CHECK-NEXT:    "stablehlo.return"(%[[TWICE]])
// CHECK-NEXT:  })
// CHECK:       "stablehlo.multiply"
// CHECK-NOT:   sym_name = "closed_call"
// CHECK:       sym_name = "main.manual_computation_0"
// CHECK:       "func.call"(%{{.+}}) <{callee = @alone}>
// CHECK:       sym_name = "alone"
// CHECK:       "commsched.all_reduce"
// CHECK-NOT:   sym_name =
// APART:         "func.call"(%{{.+}}) <{callee = @square}> {commsched.pure}
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<f32>):
    %y = "stablehlo.while"(%x) ({
    ^bb0(%a: tensor<f32>):
      %end = "stablehlo.constant"() <{value = dense<8.0> : tensor<f32>}> : () -> tensor<f32>
      %goes_on = "stablehlo.compare"(%a, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%goes_on) : (tensor<i1>) -> ()
    }, {
    ^bb0(%a: tensor<f32>):
      %b = "func.call"(%a) <{callee = @closed_call}> : (tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%b) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    %w = "sdy.manual_computation"(%y) ({
    ^bb0(%a: tensor<f32>):
      %b = "func.call"(%a) <{callee = @alone}> : (tensor<f32>) -> tensor<f32>
      "sdy.return"(%b) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    %z = "func.call"(%w) <{callee = @square}> : (tensor<f32>) -> tensor<f32>
    "func.return"(%z) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "alone", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<f32>):
    %y = "func.call"(%x) <{callee = @closed_call}> : (tensor<f32>) -> tensor<f32>
    %z = "stablehlo.multiply"(%y, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "func.return"(%z) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<f32>):
    %sum = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %add = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%add) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    %twice = "func.call"(%sum) <{callee = @square}> : (tensor<f32>) -> tensor<f32>
    "func.return"(%twice) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "square", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<f32>):
    %y = "stablehlo.multiply"(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "func.return"(%y) : (tensor<f32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
