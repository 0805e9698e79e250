// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics \
// RUN:   --test-commsched-verify-partition

// What a forward saves on the host comes back, and is what it was.

!t = tensor<4xf32, #commsched.host>
!u = tensor<4xf32>

func.func @a(%x: !u {commsched.role = "input"}) -> !t {
  %y = commsched.compute "sin"(%x) {mutates = array<i64: 0>} : (!u) -> !u
  %f = commsched.offload %y : !u -> !commsched.future<!t>
  %z = commsched.compute "add_"(%x) {mutates = array<i64: 0>} : (!u) -> !u
  %h = commsched.wait %f : !commsched.future<!t>
  return %h : !t
}
func.func @b(%h: !t {commsched.role = "saved_activation"}) -> !u {
  $run(%y = reload %h : !t -> !u)
  return %y : !u
}

func.func @f(%x0: !u {commsched.role = "input"}) -> !u {
  %f = call @a(%x0) : (!u) -> !t
  %b = call @b(%f) : (!t) -> !u
  return %b : !u
}

// -----

// A parameter that lives on the host is the caller's.

!t = tensor<4xf32, #commsched.host>

func.func @a(%w: !t {commsched.role = "parameter"}) -> !t {
  return %w : !t
}
func.func private @b( !t {commsched.role = "parameter"})

func.func @f(%x0: !t {commsched.role = "parameter"}) {
  %f = call @a(%x0) : (!t) -> !t
  call @b(%f) : (!t) -> ()
  return
}

// -----

!t = tensor<4xf32, #commsched.host>

// expected-error@+1 {{'func.func' op saves result #0 for argument #0 of '@b', which is in the memory of the host, but '@b' never reloads it}}
func.func @a(%x: tensor<4xf32> {commsched.role = "input"}) -> !t {
  // expected-note@+1 {{this 'commsched.offload' copies it to the host}}
  $run(%h = offload %x : tensor<4xf32> -> !t)
  return %h : !t
}
// expected-note@+1 {{the backward is here}}
func.func @b(%h: !t {commsched.role = "saved_activation"}) {
  return
}

func.func @f(%x0: tensor<4xf32> {commsched.role = "input"}) {
  %f = call @a(%x0) : (tensor<4xf32>) -> !t
  call @b(%f) : (!t) -> ()
  return
}

// -----

!t = tensor<4xf32, #commsched.host>

func.func private @a() -> tensor<2xf32>
// expected-error@+1 {{'func.func' op has a tangent as argument #1 that is a 'tensor<4xf32, #commsched.host>' in the memory of the host, but no forward offloads it}}
func.func @b(%s: tensor<2xf32> {commsched.role = "saved_activation"}, %dy: !t
    {commsched.role = "tangent"}) -> tensor<4xf32> {
  // expected-note@+1 {{this 'commsched.reload' uses it}}
  $run(%y = reload %dy : !t -> tensor<4xf32>)
  return %y : tensor<4xf32>
}

func.func @f(%x0: !t {commsched.role = "tangent"}) -> tensor<4xf32> {
  %s = call @a() : () -> tensor<2xf32>
  %b = call @b(%s, %x0) : (tensor<2xf32>, !t) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
