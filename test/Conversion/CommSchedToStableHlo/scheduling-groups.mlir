// What stands between start and done is one scheduling group of XLA. Windows
// that overlap are cut where a done ends a group.

// RUN: commsched-opt %s --convert-commsched-to-stablehlo=scheduling-groups=true --mlir-print-op-generic --mlir-print-local-scope \
// RUN:   | FileCheck %s -enable-var-scope --implicit-check-not=_scheduling_group_id

module attributes {mhlo.num_replicas = 2 : i32} {
  commsched.group @g size(2)

  // Group 1 ends with the done of the first start, and contains the pair
  // inside. Group 2 is what remains of the third window; its start is in it.

  // CHECK-LABEL: sym_name = "windows"
  // CHECK: "stablehlo.constant"() <{value
  // CHECK-NEXT: "stablehlo.sine"(%{{.*}}) : (tensor<4xf32>)
  // CHECK: [[F1:%.*]] = "stablehlo.async_start"
  // CHECK: }) {mhlo.frontend_attributes = {_scheduling_group_id = "1"}} :
  // CHECK: "stablehlo.constant"() <{value = dense<1.0
  // CHECK-NEXT: "stablehlo.cosine"{{.*}} {mhlo.frontend_attributes = {_scheduling_group_id = "1", a = "b"}} :
  // CHECK: [[F2:%.*]] = "stablehlo.async_start"
  // CHECK: }) {mhlo.frontend_attributes = {_scheduling_group_id = "1"}} :
  // CHECK: [[F3:%.*]] = "stablehlo.async_start"
  // CHECK: }) {mhlo.frontend_attributes = {_scheduling_group_id = "2"}} :
  // CHECK: "stablehlo.async_done"([[F2]]) {mhlo.frontend_attributes = {_scheduling_group_id = "1"}}
  // CHECK: "stablehlo.async_done"([[F1]]) {mhlo.frontend_attributes = {_scheduling_group_id = "1"}}
  // CHECK: "stablehlo.tan"{{.*}} {mhlo.frontend_attributes = {_scheduling_group_id = "2"}}
  // CHECK: "stablehlo.async_done"([[F3]]) {mhlo.frontend_attributes = {_scheduling_group_id = "2"}}
  // CHECK: "stablehlo.exponential"(%{{.*}}) : (tensor<4xf32>)
  // CHECK: [[F4:%.*]] = "stablehlo.async_start"
  // CHECK: }) {mhlo.frontend_attributes = {_scheduling_group_id = "3"}} :
  // CHECK: "stablehlo.abs"{{.*}} {mhlo.frontend_attributes = {_scheduling_group_id = "3"}}
  // CHECK: "stablehlo.async_done"([[F4]]) {mhlo.frontend_attributes = {_scheduling_group_id = "3"}}
  func.func @windows(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %c = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %s = "stablehlo.sine"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %f1 = commsched.all_reduce %x on @g reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %d = "stablehlo.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<4xf32>
    %t = "stablehlo.cosine"(%s) {mhlo.frontend_attributes = {a = "b"}} : (tensor<4xf32>) -> tensor<4xf32>
    %f2 = commsched.all_reduce %s on @g reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %f3 = commsched.all_reduce %t on @g reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
    %w1 = commsched.wait %f1 : !commsched.future<tensor<4xf32>>
    %u = "stablehlo.tan"(%w1) : (tensor<4xf32>) -> tensor<4xf32>
    %w3 = commsched.wait %f3 : !commsched.future<tensor<4xf32>>
    %v = "stablehlo.exponential"(%u) : (tensor<4xf32>) -> tensor<4xf32>
    %f4 = commsched.all_reduce %v on @g reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %a = "stablehlo.abs"(%w2) : (tensor<4xf32>) -> tensor<4xf32>
    %w4 = commsched.wait %f4 : !commsched.future<tensor<4xf32>>
    return %w3, %w4, %a, %v : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }

  // What the user has grouped stays as it is.

  // CHECK-LABEL: sym_name = "own"
  // CHECK: "stablehlo.sine"(%{{.*}}) {mhlo.frontend_attributes = {_scheduling_group_id = "7"}}
  func.func @own(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %f = commsched.all_reduce %x on @g reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %s = "stablehlo.sine"(%x) {mhlo.frontend_attributes = {_scheduling_group_id = "7"}} : (tensor<4xf32>) -> tensor<4xf32>
    %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
    return %w, %s : tensor<4xf32>, tensor<4xf32>
  }

  // A function that may be inlined twice would have the group twice.

  // CHECK-LABEL: sym_name = "private"
  // CHECK: "stablehlo.async_done"
  func.func private @private(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %f = commsched.all_reduce %x on @g reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %s = "stablehlo.sine"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
    return %w, %s : tensor<4xf32>, tensor<4xf32>
  }
}
