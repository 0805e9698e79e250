// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics \
// RUN:   --commsched-partition-joint=strategy=default
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics --commsched-partition-joint
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics \
// RUN:   --commsched-partition-joint="activation-memory-budget=0.3 collectives=recompute"
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics \
// RUN:   --commsched-partition-joint=memory-budget=1000

!t = tensor<4xf32>
ROW

// -----

// The forward needs what only the backward has.
func.func @needs_tangent(%x: !t $in,
    // expected-note@+1 {{'arg1' is a tangent, which only the backward has}}
    %dy: !t $tangent)
    -> (!t, !t)
    $joint {
  // expected-note@+1 {{'a' reads it}}
  %a = commsched.compute "a"(%x, %dy) {commsched.name = "a"} : (!t, !t) -> !t
  // expected-error@+1 {{'y' is a result of the forward, but needs what only the backward has}}
  %y = commsched.compute "y"(%a) {commsched.name = "y"} : (!t) -> !t
  return %y, %a : !t, !t
}

func.func @returns_tangent(%x: !t $in,
    // expected-error@+1 {{'dy' is a result of the forward, but is a tangent, which only the backward has}}
    %dy: !t {commsched.role = "tangent", commsched.name = "dy"})
    -> (!t, !t)
    $joint {
  return %dy, %x : !t, !t
}

// So is what only the backward is given of random states.
func.func @needs_backward_seed(%x: !t $in,
    // expected-note@+1 {{'bwd_seed_0' is a random state that only the backward has}}
    %s: tensor<1xi64> {commsched.role = "rng_state", commsched.name = "bwd_seed_0"},
    %dy: !t $tangent)
    -> (!t, !t)
    $joint {
  // expected-note@+1 {{'drop' reads it}}
  %a = commsched.compute "dropout"(%x, %s) {commsched.name = "drop"} : (!t, tensor<1xi64>) -> !t
  %b = commsched.compute "aten.exp"(%a) : (!t) -> !t
  // expected-error@+1 {{'y' is a result of the forward, but needs what only the backward has}}
  %y = commsched.compute "y"(%x, %b) {commsched.name = "y"} : (!t, !t) -> !t
  return %y, %dy : !t, !t
}

func.func @must_be_forward(%x: !t $in,
    // expected-note@+1 {{'dy' is a tangent, which only the backward has}}
    %dy: !t {commsched.role = "tangent", commsched.name = "dy"})
    -> (!t, !t)
    $joint {
  // expected-note@+1 {{'a' reads it}}
  %a = commsched.compute "a"(%dy) {commsched.name = "a"} : (!t) -> !t
  // expected-error@+1 {{'b' has to be in the forward, but needs what only the backward has}}
  %b = commsched.compute "b"(%a) {commsched.name = "b",
      commsched.partition = "must_be_forward"} : (!t) -> !t
  return %x, %b : !t, !t
}

// What is to be saved needs a tangent.
func.func @saved_too_late(%x: !t $in,
    // expected-note@+1 {{'dy' is a tangent, which only the backward has}}
    %dy: !t {commsched.role = "tangent", commsched.name = "dy"})
    -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64,
                commsched.saved_values = ["g"]} {
  // expected-error@+1 {{'g' is to be saved by the forward, but needs what only the backward has}}
  %g = commsched.compute "g"(%dy) {commsched.name = "g"} : (!t) -> !t
  return %x, %g : !t, !t
}

// expected-error@+1 {{'func.func' op does not return: there is nothing to partition}}
func.func @ends(%x: !t $in) -> !t $joint {
  // expected-note@+1 {{it ends here}}
  ub.unreachable
}

func.func @must_be_backward(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  // expected-note@+1 {{'a' has to be in the backward}}
  %a = commsched.compute "a"(%x) {commsched.name = "a",
      commsched.partition = "must_be_backward"} : (!t) -> !t
  // expected-error@+1 {{'y' is a result of the forward, but needs what only the backward has}}
  %y = commsched.compute "y"(%a) {commsched.name = "y"} : (!t) -> !t
  return %y, %dy : !t, !t
}

// Tags that contradict each other.
func.func @forward_again(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  // expected-error@+1 {{'a' has to be computed again, but has to be in the forward}}
  %a = commsched.compute "a"(%x) {commsched.name = "a",
      commsched.partition = "must_be_forward",
      commsched.recompute = "must_recompute"} : (!t) -> !t
  // expected-note@+1 {{'g' is in the backward and needs it}}
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"} : (!t, !t) -> !t
  return %x, %g : !t, !t
}

func.func @written_again(%m: memref<4xf32> $in, %dy: !t $tangent) -> (f32, !t) $joint {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'a' has to be computed again, but touches memory that is written}}
  %a = memref.load %m[%c0] {commsched.name = "a",
      commsched.recompute = "must_recompute"} : memref<4xf32>
  %b = arith.negf %a : f32
  memref.store %b, %m[%c0] : memref<4xf32>
  // expected-note@+1 {{'g' is in the backward and needs it}}
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"} : (!t, f32) -> !t
  return %b, %g : f32, !t
}
