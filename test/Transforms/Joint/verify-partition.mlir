// RUN: commsched-opt %s --split-input-file --test-commsched-verify-partition \
// RUN:   > %t.after
// RUN: commsched-opt %s --split-input-file | diff - %t.after

// Other functions, pairs that save nothing, and declarations are all right.

func.func @alone(%x: tensor<4xf32> {commsched.role = "tangent"})
    -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func @g_forward(%w: tensor<2xf32> {commsched.role = "parameter"},
                     %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<2xf32> {commsched.name = "w"}, tensor<4xf32>,
        tensor<4xf32> {commsched.name = "h"}) {
  %h = commsched.compute "mul"(%x, %w)
      : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %h, %w, %x, %h
      : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @g_backward(
    tensor<2xf32> {commsched.name = "w", commsched.role = "parameter"},
    tensor<4xf32>, tensor<4xf32> {commsched.role = "saved_activation"},
    tensor<4xf32> {commsched.role = "tangent"})

func.func private @h_forward() -> tensor<4xf32>
func.func private @h_backward(tensor<4xf32> {commsched.role = "saved_activation"})

// Others that hand results on: there is no backward, or two.

func.func private @j(tensor<4xf32> {commsched.role = "input"})
func.func private @k(tensor<4xf32> {commsched.role = "tangent"}) -> tensor<4xf32>
func.func private @l(tensor<4xf32> {commsched.role = "tangent"})
func.func @others(%x: tensor<4xf32>) {
  %h = call @h_forward() : () -> tensor<4xf32>
  call @j(%h) : (tensor<4xf32>) -> ()
  %k = call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  call @l(%k) : (tensor<4xf32>) -> ()
  return
}

func.func @g(%x0: tensor<2xf32> {commsched.role = "parameter"}, %x1: tensor<4xf32>, %x2: tensor<4xf32> {commsched.role = "tangent"})
    -> tensor<4xf32> {
  %f:4 = call @g_forward(%x0, %x1) : (tensor<2xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>)
  call @g_backward(%f#1, %f#2, %f#3, %x2)
      : (tensor<2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  return %f#0 : tensor<4xf32>
}
