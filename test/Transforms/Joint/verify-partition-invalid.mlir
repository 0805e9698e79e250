// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics \
// RUN:   --test-commsched-verify-partition

// expected-error@+1 {{'func.func' op does not say by 'commsched.num_forward_outputs' which of its results are saved for '@b'}}
func.func private @a() -> tensor<4xf32>
    attributes {commsched.joint = "f", commsched.backward = @b}
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xf32> {commsched.role = "input"})
    attributes {commsched.joint = "f", commsched.forward = @a}

// -----

ROW

// -----

// expected-error@+1 {{'func.func' op saves 2 value(s) for '@b', which takes 1 argument(s)}}
func.func private @a() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 1 : i64}
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xf32>)
    attributes {commsched.joint = "f", commsched.forward = @a}

// All that is wrong is said.
// expected-error@+2 {{'func.func' op saves result #1 for argument #0 of '@b', but they are 'tensor<4xf32>' and 'tensor<4xbf16>'}}
// expected-error@+1 {{'func.func' op saves result #2 for argument #1 of '@b', but they are called "h" and "g"}}
func.func private @a()
    -> (f32, tensor<4xf32>, tensor<2xf32> {commsched.name = "h"})
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 1 : i64}
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xbf16>, tensor<2xf32> {commsched.name = "g"})
    attributes {commsched.joint = "f", commsched.forward = @a}

// expected-error@+1 {{'func.func' op saves result #0 for argument #0 of '@b', but that is a collective in flight, '!commsched.future<tensor<4xf32>>'}}
func.func private @a() -> !commsched.future<tensor<4xf32>>
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64}
// expected-note@+1 {{the backward is here}}
func.func private @b(!commsched.future<tensor<4xf32>>)
    attributes {commsched.joint = "f", commsched.forward = @a}

// expected-error@+1 {{'func.func' op saves result #0 for argument #0 of '@b', which is a tangent: nobody but the caller has one}}
func.func private @a() -> tensor<4xf32>
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64}
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xf32> {commsched.role = "tangent"})
    attributes {commsched.joint = "f", commsched.forward = @a}

// expected-error@+1 {{'func.func' op has a tangent as argument #1, which only its backward '@b' can have}}
func.func private @a(tensor<4xf32>, tensor<4xf32> {commsched.role = "tangent"})
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64}
// expected-note@+1 {{the backward is here}}
func.func private @b()
    attributes {commsched.joint = "f", commsched.forward = @a}

// expected-error@+2 {{'func.func' op saves 1 value(s) for '@b', whose other arguments have to be tangents or its random states, but its argument #1 has no role}}
// expected-error@+1 {{'func.func' op saves 1 value(s) for '@b', whose other arguments have to be tangents or its random states, but its argument #2 has the role "input"}}
func.func private @a() -> tensor<4xf32>
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64}
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xf32>, tensor<4xf32>,
                     tensor<4xf32> {commsched.role = "input"})
    attributes {commsched.joint = "f", commsched.forward = @a}

// expected-error@+2 {{'func.func' op saves result #1 for argument #0 of '@b', which has the role "saved_activation", but it hands its argument #0 through, which has the role "parameter"}}
// expected-error@+1 {{'func.func' op saves result #2 for argument #1 of '@b', which has no role, but what it computes is a "saved_activation"}}
func.func @a(%w: tensor<4xf32> {commsched.role = "parameter"})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.joint = "f", commsched.backward = @b,
                commsched.num_forward_outputs = 1 : i64} {
  %y = commsched.compute "sin"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %w, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xf32> {commsched.role = "saved_activation"},
                     tensor<4xf32>)
    attributes {commsched.joint = "f", commsched.forward = @a}

  // expected-note@+1 {{the backward is here}}
  func.func @b(%s: tensor<4xf32> {commsched.role = "bwd_rng_state"},
               %t: tensor<1xi64> {commsched.role = "bwd_rng_state"})
      attributes {commsched.forward = @f, commsched.joint = "j"} {
    return
  }
  // expected-error@+2 {{'func.func' op has a random state of the backward as argument #0, which only its backward '@b' can have}}
  // expected-error@+1 {{'func.func' op saves result #0 for argument #0 of '@b', which is a random state of the backward: nobody but the caller has one}}
  func.func @f(%s: tensor<4xf32> {commsched.name = "bwd_seed", commsched.role = "rng_state"})
      -> tensor<4xf32>
      attributes {commsched.backward = @b, commsched.joint = "j",
                  commsched.num_forward_outputs = 0 : i64} {
    return %s : tensor<4xf32>
  }
