// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics --commsched-partition-joint

// expected-error@+1 {{'func.func' op is to become '@f_forward' and '@f_backward', but there is a '@f_backward'}}
func.func @f(%x: tensor<4xf32> $in) -> tensor<4xf32> $joint {
  return %x : tensor<4xf32>
}
// expected-note@+1 {{it is here}}
commsched.group @f_backward size(4)

// -----

ROW

// -----

// expected-error@+1 {{'func.func' op is to become '@f_forward' and '@f_backward', but something other than a call refers to it}}
func.func @f(%x: tensor<4xf32> $in) -> tensor<4xf32> $joint {
  return %x : tensor<4xf32>
}
func.func @caller() {
  // expected-note@+1 {{here}}
  %y = constant @f : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// expected-error@+1 {{'func.func' op attribute 'commsched.saved_values' names "h", but no value of the function has this name}}
func.func @f(%x: tensor<4xf32> $in) -> tensor<4xf32> attributes {commsched.num_forward_outputs = 1,
    commsched.saved_values = ["arg0", "h"]} {
  return %x : tensor<4xf32>
}

// expected-error@+1 {{'func.func' op attribute 'commsched.saved_values' names "arg0" twice}}
func.func @f(%x: tensor<4xf32> $in) -> tensor<4xf32> attributes {commsched.num_forward_outputs = 1,
    commsched.saved_values = ["arg0", "arg0"]} {
  return %x : tensor<4xf32>
}

  commsched.group @dp size(4)
  // expected-error@+1 {{'func.func' op attribute 'commsched.saved_values' names "start", which is no value that can be saved}}
  func.func @f(%x: tensor<4xf32> $in) -> tensor<4xf32> attributes {commsched.num_forward_outputs = 1 : i64,
      commsched.saved_values = ["start"]} {
    // expected-note@+1 {{it is here}}
    $run(%sum = all_reduce %x on @dp reduction(sum) {commsched.name = "start"} : tensor<4xf32> -> tensor<4xf32>)
    return %sum : tensor<4xf32>
  }

func.func @f(%x: tensor<4xf32> $in, %dy: tensor<4xf32> $tangent) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1, commsched.saved_values = []} {
  // expected-error@+1 {{'h' draws random numbers, so it cannot be computed again, but is not saved for the backward}}
  %h = commsched.compute "dropout"(%x) {commsched.name = "h", random}
      : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@+1 {{'dx' is in the backward and needs it}}
  $op(dx = back %dy, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>)
  return %h, %dx : tensor<4xf32>, tensor<4xf32>
}
