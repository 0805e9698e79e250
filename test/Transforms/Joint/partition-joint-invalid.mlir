// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics \
// RUN:   --commsched-partition-joint=strategy=default
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics \
// RUN:   --commsched-partition-joint
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics \
// RUN:   --commsched-partition-joint="activation-memory-budget=0.3 collectives=recompute"
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics \
// RUN:   --commsched-partition-joint=memory-budget=1000

// expected-error@+1 {{'func.func' op has no 'commsched.num_forward_outputs' to say how many of its 2 results are the forward's}}
func.func @no_number(
    %x: tensor<4xf32> {commsched.role = "input"},
    // expected-note@+1 {{this argument is a tangent}}
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %dy : tensor<4xf32>, tensor<4xf32>
}

// -----

ROW

// -----

func.func @no_role(
    // expected-error@+1 {{argument #0 of the joint function 'no_role' has no 'commsched.role'}}
    %x: tensor<4xf32>, %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  return %x, %dy : tensor<4xf32>, tensor<4xf32>
}

// expected-error@+1 {{attribute 'commsched.role' is "weight", which is none of "parameter", "input"}}
func.func @unknown_role(
    %x: tensor<4xf32> {commsched.role = "weight"})
    -> tensor<4xf32> attributes {commsched.num_forward_outputs = 1 : i64} {
  return %x : tensor<4xf32>
}

// The forward needs what only the backward has.
func.func @needs_tangent(
    %x: tensor<4xf32> {commsched.role = "input"},
    // expected-note@+1 {{'arg1' is a tangent, which only the backward has}}
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  // expected-note@+1 {{'a' reads it}}
  %a = commsched.compute "a"(%x, %dy) {commsched.name = "a"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'y' is a result of the forward, but needs what only the backward has}}
  %y = commsched.compute "y"(%a) {commsched.name = "y"}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %a : tensor<4xf32>, tensor<4xf32>
}

func.func @returns_tangent(
    %x: tensor<4xf32> {commsched.role = "input"},
    // expected-error@+1 {{'dy' is a result of the forward, but is a tangent, which only the backward has}}
    %dy: tensor<4xf32> {commsched.role = "tangent", commsched.name = "dy"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  return %dy, %x : tensor<4xf32>, tensor<4xf32>
}

// So is what only the backward is given of random states.
func.func @needs_backward_seed(
    %x: tensor<4xf32> {commsched.role = "input"},
    // expected-note@+1 {{'bwd_seed_0' is a random state that only the backward has}}
    %s: tensor<1xi64> {commsched.role = "rng_state", commsched.name = "bwd_seed_0"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  // expected-note@+1 {{'drop' reads it}}
  %a = commsched.compute "dropout"(%x, %s) {commsched.name = "drop"}
      : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
  %b = commsched.compute "aten.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'y' is a result of the forward, but needs what only the backward has}}
  %y = commsched.compute "y"(%x, %b) {commsched.name = "y"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %dy : tensor<4xf32>, tensor<4xf32>
}

func.func @returns_backward_seed(
    // expected-error@+1 {{'arg0' is a result of the forward, but is a random state that only the backward has}}
    %s: tensor<1xi64> {commsched.role = "bwd_rng_state"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<1xi64>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  return %s, %dy : tensor<1xi64>, tensor<4xf32>
}

func.func @must_be_forward(
    %x: tensor<4xf32> {commsched.role = "input"},
    // expected-note@+1 {{'dy' is a tangent, which only the backward has}}
    %dy: tensor<4xf32> {commsched.role = "tangent", commsched.name = "dy"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  // expected-note@+1 {{'a' reads it}}
  %a = commsched.compute "a"(%dy) {commsched.name = "a"}
      : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'b' has to be in the forward, but needs what only the backward has}}
  %b = commsched.compute "b"(%a) {commsched.name = "b",
      commsched.partition = "must_be_forward"}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %x, %b : tensor<4xf32>, tensor<4xf32>
}

// expected-error@+1 {{'func.func' op is to become '@f_forward' and '@f_backward', but there is a '@f_forward'}}
func.func @f(
    %x: tensor<4xf32> {commsched.role = "input"})
    -> tensor<4xf32> attributes {commsched.num_forward_outputs = 1 : i64} {
  return %x : tensor<4xf32>
}
// expected-note@+1 {{it is here}}
func.func private @f_forward()

// expected-error@+1 {{'func.func' op attribute 'commsched.saved_values' names "none", but no value of the function has this name}}
func.func @saved(
    %x: tensor<4xf32> {commsched.role = "input"})
    -> tensor<4xf32> attributes {commsched.num_forward_outputs = 1 : i64,
                                 commsched.saved_values = ["none"]} {
  return %x : tensor<4xf32>
}

// What is to be saved needs a tangent.
func.func @saved_too_late(
    %x: tensor<4xf32> {commsched.role = "input"},
    // expected-note@+1 {{'dy' is a tangent, which only the backward has}}
    %dy: tensor<4xf32> {commsched.role = "tangent", commsched.name = "dy"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64,
                commsched.saved_values = ["g"]} {
  // expected-error@+1 {{'g' is to be saved by the forward, but needs what only the backward has}}
  %g = commsched.compute "g"(%dy) {commsched.name = "g"}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %x, %g : tensor<4xf32>, tensor<4xf32>
}

// expected-error@+1 {{'func.func' op does not return: there is nothing to partition}}
func.func @ends(%x: tensor<4xf32> {commsched.role = "input"}) -> tensor<4xf32>
    attributes {commsched.num_forward_outputs = 1 : i64} {
  // expected-note@+1 {{it ends here}}
  ub.unreachable
}

func.func @must_be_backward(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  // expected-note@+1 {{'a' has to be in the backward}}
  %a = commsched.compute "a"(%x) {commsched.name = "a",
      commsched.partition = "must_be_backward"}
      : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'y' is a result of the forward, but needs what only the backward has}}
  %y = commsched.compute "y"(%a) {commsched.name = "y"}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %y, %dy : tensor<4xf32>, tensor<4xf32>
}

// Tags that contradict each other.
func.func @forward_again(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  // expected-error@+1 {{'a' has to be computed again, but has to be in the forward}}
  %a = commsched.compute "a"(%x) {commsched.name = "a",
      commsched.partition = "must_be_forward",
      commsched.recompute = "must_recompute"}
      : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@+1 {{'g' is in the backward and needs it}}
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %x, %g : tensor<4xf32>, tensor<4xf32>
}

func.func @written_again(
    %m: memref<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (f32, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'a' has to be computed again, but touches memory that is written}}
  %a = memref.load %m[%c0] {commsched.name = "a",
      commsched.recompute = "must_recompute"} : memref<4xf32>
  %b = arith.negf %a : f32
  memref.store %b, %m[%c0] : memref<4xf32>
  // expected-note@+1 {{'g' is in the backward and needs it}}
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"}
      : (tensor<4xf32>, f32) -> tensor<4xf32>
  return %b, %g : f32, tensor<4xf32>
}

commsched.group @dp size(4)
func.func @start_forward_wait_again(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  // expected-error@+1 {{'s' has to be computed again, but has to be in the forward}}
  %s = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.name = "s", commsched.partition = "must_be_forward"}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %a = commsched.wait %s
      {commsched.name = "a", commsched.recompute = "must_recompute"}
      : !commsched.future<tensor<4xf32>>
  // expected-note@+1 {{'g' is in the backward and needs it}}
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %g : tensor<4xf32>, tensor<4xf32>
}
