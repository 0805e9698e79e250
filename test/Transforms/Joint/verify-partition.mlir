// RUN: commsched-opt %s --split-input-file --test-commsched-verify-partition \
// RUN:   > %t.after
// RUN: commsched-opt %s --split-input-file | diff - %t.after

// Other functions, pairs that save nothing, and declarations are all right.

func.func @alone(%x: tensor<4xf32> {commsched.role = "tangent"})
    -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func @f_forward(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {commsched.joint = "f", commsched.backward = @f_backward,
                commsched.num_forward_outputs = 1 : i64} {
  return %x : tensor<4xf32>
}
func.func @f_backward(%dy: tensor<4xf32> {commsched.role = "tangent"})
    attributes {commsched.joint = "f", commsched.forward = @f_forward} {
  return
}

func.func @g_forward(%w: tensor<2xf32> {commsched.role = "parameter"},
                     %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<2xf32> {commsched.name = "w"}, tensor<4xf32>,
        tensor<4xf32> {commsched.name = "h"})
    attributes {commsched.joint = "g", commsched.backward = @g_backward,
                commsched.num_forward_outputs = 1 : i64} {
  %h = commsched.compute "mul"(%x, %w)
      : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %h, %w, %x, %h
      : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @g_backward(
    tensor<2xf32> {commsched.name = "w", commsched.role = "parameter"},
    tensor<4xf32>, tensor<4xf32> {commsched.role = "saved_activation"},
    tensor<4xf32> {commsched.role = "tangent"})
    attributes {commsched.joint = "g", commsched.forward = @g_forward}

func.func private @h_forward() -> tensor<4xf32>
    attributes {commsched.joint = "h", commsched.backward = @h_backward,
                commsched.num_forward_outputs = 0 : i64}
func.func private @h_backward(tensor<4xf32> {commsched.role = "input"})
    attributes {commsched.joint = "h", commsched.forward = @h_forward}

// A forward that returns nothing.

func.func @i_forward(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {commsched.joint = "i", commsched.backward = @i_backward,
                commsched.num_forward_outputs = 0 : i64} {
  ub.unreachable
}
func.func private @i_backward(tensor<4xf32> {commsched.role = "input"})
    attributes {commsched.joint = "i", commsched.forward = @i_forward}
