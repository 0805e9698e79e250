// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics \
// RUN:   --test-commsched-verify-partition

// expected-error@+1 {{'func.func' op names @b as its backward, but there is no such function}}
func.func private @a()
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64}

// -----

ROW

// -----

// expected-error@+1 {{'func.func' op names @a as its forward, but there is no such function}}
func.func private @b()
    attributes {commsched.joint = "f", commsched.forward = @a}
// expected-note@+1 {{the symbol is here}}
commsched.group @a size(4)

// expected-error@+1 {{'func.func' op names @b as its backward, but that names no forward}}
func.func private @a()
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64}
// expected-note@+1 {{it is here}}
func.func private @b()

  // Two forwards of one backward.
  // expected-note@+1 {{it is here}}
  func.func private @b()
      attributes {commsched.joint = "f", commsched.forward = @a}
  func.func private @a()
      attributes {commsched.joint = "f", commsched.backward = @b,
                  commsched.num_forward_outputs = 0 : i64}
  // expected-error@+1 {{'func.func' op names @b as its backward, but that names @a as its forward}}
  func.func private @c()
      attributes {commsched.joint = "f", commsched.backward = @b,
                  commsched.num_forward_outputs = 0 : i64}

// expected-error@+1 {{'func.func' op is half of the joint function "f", but its backward is half of "g"}}
func.func private @a()
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64}
// expected-note@+1 {{the backward is here}}
func.func private @b()
    attributes {commsched.joint = "g", commsched.forward = @a}

// expected-error@+1 {{'func.func' op is half of the joint function "f", but names no other half}}
func.func private @a() attributes {commsched.joint = "f"}

  func.func private @a()
      attributes {commsched.joint = "f", commsched.backward = @b,
                  commsched.num_forward_outputs = 0 : i64}
  // expected-error@+1 {{'func.func' op names @a as its forward, but not the joint function that both were}}
  func.func private @b() attributes {commsched.forward = @a}

// expected-error@+1 {{'func.func' op names @a as its backward and @a as its forward, but it can be only one of both itself}}
func.func private @a()
    attributes {commsched.joint = "f", commsched.backward = @a,
                commsched.forward = @a,
                commsched.num_forward_outputs = 0 : i64}
