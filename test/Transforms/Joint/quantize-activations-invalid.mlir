// RUN: %rows %s | commsched-opt --commsched-quantize-activations=size-in-mb=0 \
// RUN:   -split-input-file -verify-diagnostics

// Halves that do not fit together.

// expected-error@below {{'func.func' op names '@f_backward' as its backward, but there is no such function}}
func.func @f_forward() attributes {commsched.backward = @f_backward,
                                   commsched.num_forward_outputs = 0 : i64} {
  return
}

// -----

!t = tensor<16xbf16>
ROW

// -----

// expected-error@below {{'func.func' op names '@f_backward' as its backward, but that does not name it as its forward}}
func.func @f_forward() attributes {commsched.backward = @f_backward,
                                   commsched.num_forward_outputs = 0 : i64} {
  return
}
// expected-note@below {{the backward is here}}
func.func @f_backward() attributes {commsched.forward = @g_forward} {
  return
}

// expected-error@below {{'func.func' op has a backward, but no attribute 'commsched.num_forward_outputs'}}
func.func @f_forward() attributes {commsched.backward = @f_backward} {
  return
}
func.func @f_backward() attributes {commsched.forward = @f_forward} {
  return
}

  func.func @f_forward() attributes {commsched.backward = @f_backward,
                                     commsched.num_forward_outputs = 0 : i64} {
    return
  }
  // expected-error@below {{'func.func' op is half of a partition, but its body has 0 blocks}}
  func.func private @f_backward() attributes {commsched.forward = @f_forward}

// expected-error@below {{'func.func' op is half of a partition, but its body has 2 blocks}}
func.func @f_forward() attributes {commsched.backward = @f_backward,
                                   commsched.num_forward_outputs = 0 : i64} {
  cf.br ^end
^end:
  return
}
func.func @f_backward() attributes {commsched.forward = @f_forward} {
  return
}

// expected-error@below {{'func.func' op is half of a partition, but does not return}}
func.func @f_forward(%x: !t) -> !t attributes {commsched.backward = @f_backward,
                commsched.num_forward_outputs = 1 : i64} {
  // expected-note@below {{it ends here}}
  ub.unreachable
}
func.func @f_backward() attributes {commsched.forward = @f_forward} {
  return
}

// expected-error@below {{'func.func' op saves 2 values, but its backward takes 1 arguments}}
func.func @f_forward(%x: !t) -> (!t, !t, !t)
    attributes {commsched.backward = @f_backward,
                commsched.num_forward_outputs = 1 : i64} {
  return %x, %x, %x : !t, !t, !t
}
// expected-note@below {{the backward is here}}
func.func @f_backward(%x: !t) attributes {commsched.forward = @f_forward} {
  return
}

// expected-error@below {{'func.func' op saves a 'tensor<16xbf16>' as value 1, but its backward takes a 'tensor<16xf32>'}}
func.func @f_forward(%x: !t, %i: index) -> (index, !t)
    attributes {commsched.backward = @f_backward,
                commsched.num_forward_outputs = 0 : i64} {
  return %i, %x : index, !t
}
// expected-note@below {{the argument is here}}
func.func @f_backward(%i: index, %x: tensor<16xf32>)
    attributes {commsched.forward = @f_forward} {
  return
}

  // A call would be of the wrong type. Nothing changes, not even in pairs that
  // nobody calls.
  func.func @g_forward(%x: !t {commsched.role = "input"}) -> !t
      attributes {commsched.backward = @g_backward,
                  commsched.num_forward_outputs = 0 : i64} {
    return %x : !t
  }
  func.func @g_backward(%x: !t) attributes {commsched.forward = @g_forward} {
    return
  }
  func.func @f_forward(%x: !t {commsched.role = "input"}) -> !t
      attributes {commsched.backward = @f_backward,
                  commsched.num_forward_outputs = 0 : i64} {
    return %x : !t
  }
  // expected-error@below {{'func.func' op saves its activations in another type from now on, but something refers to it}}
  func.func @f_backward(%x: !t) attributes {commsched.forward = @f_forward} {
    return
  }
  func.func @step(%x: !t) {
    // expected-note@below {{here}}
    call @f_backward(%x) : (!t) -> ()
    return
  }
