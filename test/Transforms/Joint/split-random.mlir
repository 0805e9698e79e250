// RUN: commsched-test-opt %s --test-split-function \
// RUN:   --test-commsched-verify-partition | FileCheck -enable-var-scope %s
// RUN: commsched-test-opt %s > %t.before
// RUN: commsched-test-opt %s --test-split-function=trial > %t.trial
// RUN: diff %t.before %t.trial

// The operator that is to be drawn again gets the generator's state, which is
// saved; the other one keeps its own.

// CHECK-LABEL: func.func private @dropout_forward(
// CHECK-SAME: -> (tensor<4xf32>, tensor<4xf32> {commsched.name = "arg0"}, tensor<16xi8> {commsched.name = "again.rng_state"}, tensor<4xf32> {commsched.name = "once"})
// CHECK-NEXT: %[[STATE:.+]] = commsched.compute "rng.get_state"()
// CHECK-SAME: {commsched.module = "layers.0", commsched.name = "again.rng_state", commsched.partition = "forward", commsched.recompute = "must_save", random} : () -> tensor<16xi8>
// CHECK-NEXT: %[[AGAIN:.+]] = commsched.compute "dropout"(%{{.+}}, %[[STATE]])
// CHECK-SAME: {commsched.module = "layers.0", commsched.name = "again", commsched.partition = "forward", commsched.recompute = "must_recompute"} : (tensor<4xf32>, tensor<16xi8>)
// CHECK-NEXT: %[[ONCE:.+]] = commsched.compute "dropout"(%[[AGAIN]]) {commsched.name = "once", random}
// CHECK-NEXT: %[[Y:.+]] = commsched.compute "sin"
// CHECK-NEXT: return %[[Y]], %{{.+}}, %[[STATE]], %[[ONCE]]

// CHECK-LABEL: func.func private @dropout_backward(
// CHECK-SAME: %[[X:[^:]+]]: tensor<4xf32> {commsched.name = "arg0", commsched.role = "input"},
// CHECK-SAME: %[[STATE:[^:]+]]: tensor<16xi8> {commsched.name = "again.rng_state", commsched.role = "saved_activation"},
// CHECK-SAME: %[[ONCE:[^:]+]]: tensor<4xf32> {commsched.name = "once", commsched.role = "saved_activation"},
// CHECK-NEXT: %[[AGAIN:.+]] = commsched.compute "dropout"(%[[X]], %[[STATE]])
// CHECK-NEXT: commsched.compute "back"(%{{.+}}, %[[AGAIN]], %[[ONCE]])
func.func @dropout(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64,
                commsched.saved_values = ["once", "again.rng_state"]} {
  %again = commsched.compute "dropout"(%x) {random, commsched.name = "again",
      commsched.recompute = "must_recompute", commsched.module = "layers.0",
      commsched.partition = "forward"} : (tensor<4xf32>) -> tensor<4xf32>
  %once = commsched.compute "dropout"(%again) {random, commsched.name = "once"}
      : (tensor<4xf32>) -> tensor<4xf32>
  %y = commsched.compute "sin"(%once) : (tensor<4xf32>) -> tensor<4xf32>
  %dx = commsched.compute "back"(%dy, %again, %once)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}
