// RUN: commsched-opt %s --test-convert-commsched-to-requests | FileCheck %s
// RUN: commsched-opt %s --convert-commsched-to-runtime | FileCheck %s --enable-var-scope --check-prefix=CALLS

// A future that crosses a boundary becomes one number: the request with its
// buffers.

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @dp size(4)

func.func private @step(tensor<2x4xf32>) -> tensor<2x16xf32>

// The parts of the ranks are unpacked by whoever waits.
// CHECK-LABEL: func.func @prologue{{.*}}-> !commsched_rt.held
// CHECK: %[[PARTS:.+]] = tensor.empty() : tensor<32xf32>
// CHECK: %[[REQUEST:.+]], %[[RECEIVED:.+]] = commsched_rt.start "all_gather" "all_gather_0" on @dp ins(%[[X:.+]] : tensor<2x4xf32>) outs(%[[PARTS]] : tensor<32xf32>)
// CHECK: %[[HELD:.+]] = commsched_rt.hold %[[REQUEST]] ins(%[[X]] : tensor<2x4xf32>) outs(%[[RECEIVED]] : tensor<32xf32>)
// CHECK-NEXT: return %[[HELD]]

// The input of a repetition is overwritten by the next one's: it is copied.
// CALLS-LABEL: func.func @prologue{{.*}}-> i64
// CALLS: call @commsched_allocate(%c128_i64
// CALLS: call @commsched_allocate(%c32_i64
// CALLS: call @commsched_copy
// CALLS: %[[REQUEST:.+]] = call @commsched_start
// CALLS: %[[HELD:.+]] = call @commsched_hold(%[[REQUEST]], %c1_i32{{.*}}, %{{.*}}, %c1_i32
// CALLS-NEXT: return %[[HELD]]
func.func @prologue(
    %x: tensor<2x4xf32> {commsched.step_argument = 0 : i64, commsched.repetition = 0 : i64})
    -> !commsched.future<tensor<2x16xf32>>
    attributes {commsched.steady_state = {step = @step, role = "prologue", depth = 2 : i64}} {
  %gathering = commsched.all_gather %x on @dp dim(1)
      : tensor<2x4xf32> -> !commsched.future<tensor<2x16xf32>>
  return %gathering : !commsched.future<tensor<2x16xf32>>
}

// CHECK-LABEL: func.func @epilogue
// CHECK-SAME: (%[[HELD:.+]]: !commsched_rt.held)
// CHECK: %[[PARTS:.+]] = commsched_rt.resume %[[HELD]] : tensor<32xf32>
// CHECK: %[[WHOLE:.+]] = tensor.empty() : tensor<2x16xf32>
// CHECK: commsched_rt.copy ins(%[[PARTS]] : tensor<32xf32>) outs(%[[WHOLE]] : tensor<2x16xf32>)

// CALLS-LABEL: func.func @epilogue
// CALLS-SAME: (%[[HELD:.+]]: i64)
// CALLS: call @commsched_resume(%[[HELD]], %c1_i32
// CALLS: call @commsched_copy
// CALLS: memref.dealloc
// CALLS: return
func.func @epilogue(%gathering: !commsched.future<tensor<2x16xf32>>)
    -> (tensor<2x16xf32> {commsched.step_result = 0 : i64})
    attributes {commsched.steady_state = {step = @step, role = "epilogue", depth = 2 : i64}} {
  %whole = commsched.wait %gathering : !commsched.future<tensor<2x16xf32>>
  return %whole : tensor<2x16xf32>
}

// An argument that is the same in all repetitions is sent as it is; what the
// iteration itself has computed is taken over.
// CALLS-LABEL: func.func @loop
// CALLS-NOT: commsched_copy
// CALLS: call @commsched_hold(%{{.*}}, %c0_i32{{.*}}, %{{.*}}, %c1_i32
// CALLS: scf.for
// CALLS: call @commsched_resume
// CALLS: call @commsched_allocate(%c16_i64
// CALLS: call @commsched_start
// CALLS: call @commsched_hold(%{{.*}}, %c1_i32{{.*}}, %{{.*}}, %c1_i32
// CALLS: call @commsched_resume
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
// CALLS-LABEL: func.func @used_later
// CALLS: scf.for
// CALLS: call @commsched_resume
// CALLS: memref.alloc()
// CALLS: call @commsched_copy
// CALLS: call @commsched_start
// CALLS: call @commsched_hold(%{{.*}}, %c1_i32{{.*}}, %{{.*}}, %c1_i32
// CALLS: scf.yield
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
// CALLS-LABEL: func.func @unused
// CALLS: scf.for
// CALLS: call @commsched_resume
// CALLS: call @commsched_start
// CALLS: call @commsched_resume
// CALLS: return
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
