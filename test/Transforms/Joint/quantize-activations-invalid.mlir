// RUN: %rows %s | commsched-opt --commsched-quantize-activations=size-in-mb=0 \
// RUN:   -split-input-file -verify-diagnostics

// Halves that cannot be rewritten.

LET $forward func.func @f_forward(%x: tensor<16xbf16> {commsched.role = "input"})
      -> tensor<16xbf16> {
    return %x : tensor<16xbf16>
  }
LET $backward func.func @f_backward(%x: tensor<16xbf16> {commsched.role = "saved_activation"}) {
    return
  }

func.func @f(%x: tensor<16xbf16>) {
  %f = call @f_forward(%x) : (tensor<16xbf16>) -> tensor<16xbf16>
  call @f_backward(%f) : (tensor<16xbf16>) -> ()
  return
}
ROW

// -----

$forward
  // expected-error@below {{'func.func' op is half of a partition, but its body has 0 blocks}}
func.func private @f_backward(tensor<16xbf16> {commsched.role = "saved_activation"})

// expected-error@below {{'func.func' op is half of a partition, but its body has 2 blocks}}
func.func @f_forward(%x: tensor<16xbf16>) -> tensor<16xbf16> {
  cf.br ^end
^end:
  return %x : tensor<16xbf16>
}
$backward

// expected-error@below {{'func.func' op is half of a partition, but does not return}}
func.func @f_forward(%x: tensor<16xbf16>) -> tensor<16xbf16> {
  // expected-note@below {{it ends here}}
  ub.unreachable
}
$backward

// Another call of a half.
$forward
  // expected-error@below {{'func.func' op saves its activations in another type from now on, but something else refers to it}}
$backward
func.func @step(%x: tensor<16xbf16>) {
  // expected-note@below {{here}}
  call @f_backward(%x) : (tensor<16xbf16>) -> ()
  return
}

// -----

// Another user of what is saved.

// expected-error@below {{'func.func' op saves its activations in another type from now on, but something else refers to it}}
$forward
$backward
func.func @step(%x: tensor<16xbf16>) -> tensor<16xbf16> {
  %f = call @f_forward(%x) : (tensor<16xbf16>) -> tensor<16xbf16>
  call @f_backward(%f) : (tensor<16xbf16>) -> ()
  // expected-note@below {{here}}
  return %f : tensor<16xbf16>
}
