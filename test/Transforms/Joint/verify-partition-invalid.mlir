// RUN: commsched-opt %s --split-input-file --verify-diagnostics --test-commsched-verify-partition

func.func @f() {
  %s:2 = call @a() : () -> (tensor<4xf32>, tensor<2xf32>)
  call @b(%s#0, %s#1) : (tensor<4xf32>, tensor<2xf32>) -> ()
  return
}
// expected-error@+1 {{'func.func' op saves result #1 for argument #1 of '@b', but they are called "h" and "g"}}
func.func private @a() -> (tensor<4xf32>, tensor<2xf32> {commsched.name = "h"})
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xf32> {commsched.role = "saved_activation"}, tensor<2xf32> {commsched.name = "g"})

// -----

func.func @f() {
  %s = call @a() : () -> !commsched.future<tensor<4xf32>>
  call @b(%s) : (!commsched.future<tensor<4xf32>>) -> ()
  return
}
// expected-error@+1 {{'func.func' op saves result #0 for argument #0 of '@b', but that is a collective in flight, '!commsched.future<tensor<4xf32>>'}}
func.func private @a() -> !commsched.future<tensor<4xf32>>
// expected-note@+1 {{the backward is here}}
func.func private @b(!commsched.future<tensor<4xf32>> {commsched.role = "saved_activation"})

// -----

func.func @f() {
  %s = call @a() : () -> tensor<4xf32>
  call @b(%s) : (tensor<4xf32>) -> ()
  return
}
// expected-error@+1 {{'func.func' op saves result #0 for argument #0 of '@b', which is a tangent: nobody but the caller has one}}
func.func private @a() -> tensor<4xf32>
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xf32> {commsched.role = "tangent"})

// -----

!t = tensor<4xf32>

func.func @f(%w: !t) {
  %s:2 = call @a(%w) : (!t) -> (!t, !t)
  call @b(%s#0, %s#1) : (!t, !t) -> ()
  return
}
// expected-error@+2 {{'func.func' op saves result #0 for argument #0 of '@b', which has the role "saved_activation", but it hands its argument #0 through, which has the role "parameter"}}
// expected-error@+1 {{'func.func' op saves result #1 for argument #1 of '@b', which has no role, but what it computes is a "saved_activation"}}
func.func @a(%w: !t {commsched.role = "parameter"}) -> (!t, !t) {
  %y = commsched.compute "sin"(%w) : (!t) -> !t
  return %w, %y : !t, !t
}
// expected-note@+1 {{the backward is here}}
func.func private @b(!t {commsched.role = "saved_activation"}, !t)

// -----

// All that is wrong is said.

func.func @f() {
  %s:2 = call @a() : () -> (tensor<4xf32>, tensor<4xf32>)
  call @b(%s#0, %s#1) : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}
// expected-error@+2 {{'func.func' op saves result #0 for argument #0 of '@b', which is a random state of the backward: nobody but the caller has one}}
// expected-error@+1 {{'func.func' op saves result #1 for argument #1 of '@b', which is a tangent: nobody but the caller has one}}
func.func private @a() -> (tensor<4xf32>, tensor<4xf32>)
// expected-note@+1 {{the backward is here}}
func.func private @b(tensor<4xf32> {commsched.role = "bwd_rng_state"},
                     tensor<4xf32> {commsched.role = "tangent"})
