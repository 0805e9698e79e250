// RUN: commsched-opt %s --commsched-mimic-autograd-order \
// RUN:   --remarks-filter=commsched --verify-diagnostics -o %t.mlir
// RUN: commsched-opt %s -o - | diff - %t.mlir

// What stays as it is, and why.

// expected-remark@+1 {{not reordered: no operation uses a tangent}}
func.func @no_tangent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// expected-remark@+1 {{not reordered: no operation uses a tangent}}
func.func @only_returned(
    %x: tensor<4xf32>, %t: tensor<4xf32> {commsched.role = "tangent"})
    -> tensor<4xf32> {
  %a = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %t : tensor<4xf32>
}

func.func @nothing_in_front(%x: tensor<4xf32>, %t: tensor<4xf32> {commsched.role = "tangent"})
    -> tensor<4xf32> {
  %a = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark@+1 {{not reordered: nothing in front of the backward can wait}}
  %g = commsched.compute "g"(%t, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// expected-remark@+1 {{not reordered: the function holds a forward, too: 'commsched.num_forward_outputs' counts its results}}
func.func @joint(%x: tensor<4xf32> {commsched.role = "input"}, %t: tensor<4xf32>
    {commsched.role = "tangent"}) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1} {
  %y = commsched.compute "y"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %g = commsched.compute "g"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}

// expected-remark@+1 {{not reordered: the body has several blocks}}
func.func @blocks(%x: tensor<4xf32>,
                  %t: tensor<4xf32> {commsched.role = "tangent"})
    -> tensor<4xf32> {
  %a = commsched.compute "a"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^next
^next:
  %g = commsched.compute "g"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

func.func private @declared(tensor<4xf32> {commsched.role = "tangent"})
