// RUN: commsched-opt %s --split-input-file --test-commsched-verify-partition > %t.after
// RUN: commsched-opt %s --split-input-file | diff - %t.after

// Other functions, pairs that save nothing, and declarations are all right.

!t = tensor<4xf32>

func.func @alone(%x: !t {commsched.role = "tangent"}) -> !t {
  return %x : !t
}

func.func @g_forward(%w: tensor<2xf32> {commsched.role = "parameter"}, %x: !t)
    -> (!t, tensor<2xf32> {commsched.name = "w"}, !t, !t {commsched.name = "h"})
    {
  %h = commsched.compute "mul"(%x, %w) : (!t, tensor<2xf32>) -> !t
  return %h, %w, %x, %h : !t, tensor<2xf32>, !t, !t
}
func.func private @g_backward(
    tensor<2xf32> {commsched.name = "w", commsched.role = "parameter"}, !t,
    !t {commsched.role = "saved_activation"}, !t {commsched.role = "tangent"})

func.func private @h_forward() -> !t
func.func private @h_backward(!t {commsched.role = "saved_activation"})

// Others that hand results on: there is no backward, or two.

func.func private @j(!t {commsched.role = "input"})
func.func private @k(!t {commsched.role = "tangent"}) -> !t
func.func private @l(!t {commsched.role = "tangent"})
func.func @others(%x: !t) {
  %h = call @h_forward() : () -> !t
  call @j(%h) : (!t) -> ()
  %k = call @k(%x) : (!t) -> !t
  call @l(%k) : (!t) -> ()
  return
}

func.func @g(%x0: tensor<2xf32> {commsched.role = "parameter"}, %x1: !t, %x2: !t {commsched.role = "tangent"})
    -> !t {
  %f:4 = call @g_forward(%x0, %x1) : (tensor<2xf32>, !t) -> (!t, tensor<2xf32>, !t, !t)
  call @g_backward(%f#1, %f#2, %f#3, %x2) : (tensor<2xf32>, !t, !t, !t) -> ()
  return %f#0 : !t
}
