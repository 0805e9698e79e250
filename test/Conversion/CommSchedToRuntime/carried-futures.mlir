// RUN: commsched-opt %s --convert-commsched-to-runtime | FileCheck %s --enable-var-scope

// A future that crosses a boundary becomes one number: the request with its
// buffers.

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @dp size(4)

func.func private @step(tensor<2x4xf32>) -> tensor<2x16xf32>

// The input of a repetition is overwritten by the next one's: it is copied.
// CHECK-LABEL: func.func @prologue{{.*}}-> i64
// CHECK: call @commsched_allocate(%c128_i64
// CHECK: call @commsched_allocate(%c32_i64
// CHECK: call @commsched_copy
// CHECK: %[[REQUEST:.+]] = call @commsched_start
// CHECK: %[[HELD:.+]] = call @commsched_hold(%[[REQUEST]], %c1_i32{{.*}}, %{{.*}}, %c1_i32
// CHECK-NEXT: return %[[HELD]]
func.func @prologue(
    %x: tensor<2x4xf32> {commsched.step_argument = 0 : i64, commsched.repetition = 0 : i64})
    -> !commsched.future<tensor<2x16xf32>>
    attributes {commsched.steady_state = {step = @step, role = "prologue", depth = 2 : i64}} {
  %gathering = commsched.all_gather %x on @dp dim(1)
      : tensor<2x4xf32> -> !commsched.future<tensor<2x16xf32>>
  return %gathering : !commsched.future<tensor<2x16xf32>>
}

// CHECK-LABEL: func.func @epilogue
// CHECK-SAME: (%[[HELD:.+]]: i64)
// CHECK: call @commsched_resume(%[[HELD]], %c1_i32
// CHECK: call @commsched_copy
// CHECK: memref.dealloc
// CHECK: return
func.func @epilogue(%gathering: !commsched.future<tensor<2x16xf32>>)
    -> (tensor<2x16xf32> {commsched.step_result = 0 : i64})
    attributes {commsched.steady_state = {step = @step, role = "epilogue", depth = 2 : i64}} {
  %whole = commsched.wait %gathering : !commsched.future<tensor<2x16xf32>>
  return %whole : tensor<2x16xf32>
}

// An argument that is the same in all repetitions is sent as it is; what the
// iteration itself has computed is taken over.
// CHECK-LABEL: func.func @loop
// CHECK-NOT: commsched_copy
// CHECK: call @commsched_hold(%{{.*}}, %c0_i32{{.*}}, %{{.*}}, %c1_i32
// CHECK: scf.for
// CHECK: call @commsched_resume
// CHECK: call @commsched_allocate(%c16_i64
// CHECK: call @commsched_start
// CHECK: call @commsched_hold(%{{.*}}, %c1_i32{{.*}}, %{{.*}}, %c1_i32
// CHECK: call @commsched_resume
func.func @loop(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%reducing = %first) -> !future {
    %sum = commsched.wait %reducing : !future
    %double = arith.addf %sum, %sum : !t
    %next = commsched.all_reduce %double on @dp reduction(sum) : !t -> !future
    scf.yield %next : !future
  } {commsched.pipelined}
  %sum = commsched.wait %last : !future
  return %sum : !t
}

// What the next iteration reads is not taken over, but copied: the runtime frees
// what it holds.
// CHECK-LABEL: func.func @used_later
// CHECK: scf.for
// CHECK: call @commsched_resume
// CHECK: memref.alloc()
// CHECK: call @commsched_copy
// CHECK: call @commsched_start
// CHECK: call @commsched_hold(%{{.*}}, %c1_i32{{.*}}, %{{.*}}, %c1_i32
// CHECK: scf.yield
func.func @used_later(%x: !t, %n: index) -> (!t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %last, %sent = scf.for %i = %c0 to %n step %c1
      iter_args(%reducing = %first, %before = %x) -> (!future, !t) {
    %sum = commsched.wait %reducing : !future
    %double = arith.addf %x, %x : !t
    %next = commsched.all_reduce %double on @dp reduction(sum) : !t -> !future
    scf.yield %next, %double : !future, !t
  } {commsched.pipelined}
  %sum = commsched.wait %last : !future
  return %sum, %sent : !t, !t
}

// What is waited for is waited for, even if nothing takes what arrives.
// CHECK-LABEL: func.func @unused
// CHECK: scf.for
// CHECK: call @commsched_resume
// CHECK: call @commsched_start
// CHECK: call @commsched_resume
// CHECK: return
func.func @unused(%x: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%reducing = %first) -> !future {
    %sum = commsched.wait %reducing : !future
    %next = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
    scf.yield %next : !future
  } {commsched.pipelined}
  %sum = commsched.wait %last : !future
  return
}

// Branches to one block with different values are a choice of these.
// CHECK: arith.select {{.*}} : memref<4xf32>
func.func @same(%c: i1, %x: !t, %y: !t) -> !t {
  cf.cond_br %c, ^both(%x : !t), ^both(%y : !t)
^both(%z: !t):
  return %z : !t
}
