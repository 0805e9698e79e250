// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics --commsched-partition-joint
// RUN: commsched-opt %t.mlir --split-input-file --verify-diagnostics \
// RUN:   --test-commsched-fit-memory=memory-budget=1GiB

// Marks that contradict each other: the error is at one operation, a note at
// the other.

!t = tensor<4xf32>

func.func @saved_and_again(%x: !t $in,
    %dy: !t $tangent) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64,
                commsched.saved_values = ["a"]} {
  // expected-error@+1 {{'a' is to be saved, but has to be computed again}}
  %a = commsched.compute "a"(%x) {commsched.name = "a",
      commsched.recompute = "must_recompute"} : (!t) -> !t
  // expected-note@+1 {{'g' needs it in the backward}}
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"} : (!t, !t) -> !t
  return %x, %g : !t, !t
}

// -----

!t = tensor<4xf32>
!future = !commsched.future<!t>
ROW

// -----

commsched.group @dp size(4)
func.func @start_saved_wait_again(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  // expected-error@+1 {{'s' cannot be computed again, for it has to be saved, and is no value that can be saved}}
  %s = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.name = "s", commsched.recompute = "must_save"} : !t -> !future
  // expected-note@+1 {{'a' has to be computed again}}
  %a = commsched.wait %s {commsched.name = "a", commsched.recompute = "must_recompute"} : !future
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"} : (!t, !t) -> !t
  return %a, %g : !t, !t
}

// The value of which the host has a copy is written through a view.
func.func @offloaded_and_written(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %a = commsched.compute "a"(%x) : (!t) -> !t
  %v = commsched.compute "v"(%a) {alias = 0 : i64} : (!t) -> !t
  // expected-error@+1 {{'commsched.offload' op copies operand 0 to the host, but its storage is written later, so the copy differs from the value}}
  $run(%h = offload %a : !t -> tensor<4xf32, #commsched.host>)
  // expected-note@+1 {{this 'commsched.compute' writes it}}
  %m = commsched.compute "add_"(%v) {alias = 0 : i64, mutates = array<i64: 0>} : (!t) -> !t
  %r = commsched.reload %h {commsched.partition = "must_be_backward"}
      : tensor<4xf32, #commsched.host> -> !future
  %b = commsched.wait %r {commsched.partition = "must_be_backward"} : !future
  %g = commsched.compute "g"(%dy, %b) : (!t, !t) -> !t
  return %m, %g : !t, !t
}

// What is copied once is not copied again.
func.func @reloaded_again( %x: tensor<4xf32, #commsched.host> $in, %dy: !t $tangent) -> (!t, !t) $joint {
  // expected-error@+1 {{'r' has to be computed again, but must run exactly once}}
  %r = commsched.reload %x {commsched.name = "r"} : tensor<4xf32, #commsched.host> -> !future
  %b = commsched.wait %r {commsched.name = "b", commsched.recompute = "must_recompute"} : !future
  // expected-note@+1 {{'g' is in the backward and needs it}}
  %g = commsched.compute "g"(%dy, %b) {commsched.name = "g"} : (!t, !t) -> !t
  return %b, %g : !t, !t
}

// -----

!t = tensor<4xf32>
!future = !commsched.future<!t>

func.func @row(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  ROW
  return %x, %g : !t, !t
}

// -----

  // The operand can be neither saved nor made again.
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  // expected-error@+1 {{'m' cannot be computed again, for it has to be in the forward, and is no value that can be saved}}
  %m = memref.alloc() {commsched.name = "m"} : memref<4xf32>
  memref.store %one, %m[%c0] : memref<4xf32>
  // expected-note@+1 {{'a' has to be computed again}}
  %a = memref.load %m[%c0] {commsched.name = "a",
      commsched.recompute = "must_recompute"} : memref<4xf32>
  %g = commsched.compute "g"(%dy, %a) {commsched.name = "g"} : (!t, f32) -> !t

  // expected-note@+1 {{this 'commsched.compute' is tagged "must_recompute"}}
  %a = commsched.compute "a"(%x) {commsched.name = "a",
      commsched.recompute = "must_recompute"} : (!t) -> !t
  // expected-error@+1 {{'commsched.offload' op saves operand 1 on the host, but it has to be computed again}}
  %f = commsched.offload %x, %a : !t, !t
      -> !commsched.future<tensor<4xf32, #commsched.host>,
                           tensor<4xf32, #commsched.host>>
  %h:2 = commsched.wait %f
      : !commsched.future<tensor<4xf32, #commsched.host>,
                          tensor<4xf32, #commsched.host>>
  %r = commsched.reload %h#1 {commsched.partition = "must_be_backward"}
      : tensor<4xf32, #commsched.host> -> !future
  %b = commsched.wait %r {commsched.partition = "must_be_backward"} : !future
  %g = commsched.compute "g"(%dy, %b) : (!t, !t) -> !t
