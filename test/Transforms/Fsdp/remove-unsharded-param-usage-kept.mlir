// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -split-input-file -o %t.before
// RUN: commsched-opt %t.mlir -split-input-file -verify-diagnostics -o %t.after \
// RUN:   --commsched-remove-unsharded-param-usage %remarks
// RUN: diff %t.before %t.after

// Parameters that keep their storage, and why; nothing changes.

func.func private @declaration(memref<4xf32>)

func.func @never_freed(%p: memref<4xf32> {commsched.name = "p"},
                       %full: tensor<4xf32>, %v: f32, %i: index)
    -> tensor<4xf32> {
  // expected-remark-re@below {{[Missed] ParameterKept | Category:commsched | Function=never_freed | {{.*}}'p' keeps its storage: it is grown 1 time(s), but freed 0}}
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  // No error: it is not a parameter that may go.
  memref.store %v, %p[%i] : memref<4xf32>
  return %w : tensor<4xf32>
}

func.func @no_argument(%full: tensor<4xf32>) {
  %m = memref.alloc() : memref<4xf32>
  // expected-remark@below {{the memref keeps its storage: it is no argument of the function}}
  commsched.fsdp_copy %full into %m : tensor<4xf32>, memref<4xf32>
  return
}

func.func @memref_returned(%p: memref<4xf32>, %full: tensor<4xf32>) -> memref<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  // expected-remark@below {{func.return may pass it on}}
  return %p : memref<4xf32>
}

func.func @view_of_the_tensor_returned(%p: memref<4xf32>, %full: tensor<4xf32>) -> tensor<2x2xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %view = commsched.compute "view"(%w) {alias = 0 : i64} : (tensor<4xf32>) -> tensor<2x2xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  // expected-remark@below {{func.return may pass it on}}
  return %view : tensor<2x2xf32>
}

// -----

func.func @row(%p: memref<4xf32>, %full: tensor<4xf32>, %c: i1) {
  ROW
  return
}

// -----

  // expected-remark@below {{'%arg0' keeps its storage: it is filled, but never freed}}
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>

  // It comes with storage, and goes with it.
  // expected-remark@below {{it is not grown and freed in turns}}
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>

  commsched.resize_storage %p bytes(16) : memref<4xf32>
  // expected-remark@below {{it is not grown and freed in turns}}
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>

  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  scf.if %c {
    // expected-remark@below {{commsched.resize_storage is not in the first block of the function}}
    commsched.resize_storage %p bytes(0) : memref<4xf32>
  }

  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  cf.br ^next
  ^next:
  // expected-remark@below {{commsched.fsdp_copy is not in the first block of the function}}
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>

  // The view is no argument, and the argument not resized in turns.
  %v = memref.expand_shape %p [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  // expected-remark@below {{the memref keeps its storage: it is no argument of the function}}
  // expected-remark@below {{'%arg0' keeps its storage: commsched.resize_storage works on a view of it}}
  commsched.resize_storage %v bytes(16) : memref<2x2xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>

// -----

commsched.group @dp size(4)
func.func private @unknown(tensor<4xf32>) -> tensor<4xf32>

func.func @filled(%p: memref<4xf32>, %full: tensor<4xf32>, %next: tensor<4xf32>,
                  %c: i1, %i: index) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  ROW
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// -----

  // expected-remark@below {{memref.load reads the memref itself}}
  %v = memref.load %p[%i] : memref<4xf32>

  // expected-remark@below {{memref.cast makes a view of it}}
  %m = memref.cast %p : memref<4xf32> to memref<?xf32>
  %y = bufferization.to_tensor %m : memref<?xf32> to tensor<?xf32>

  // expected-remark@below {{func.call may pass it on}}
  %y = func.call @unknown(%w) : (tensor<4xf32>) -> tensor<4xf32>

  // expected-remark@below {{arith.select may pass it on}}
  %s = arith.select %c, %w, %full : tensor<4xf32>

  // In a region the view goes where nothing tells it apart.
  %r = scf.if %c -> tensor<4xf32> {
    %x = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
    // expected-remark@below {{scf.yield may pass it on}}
    scf.yield %x : tensor<4xf32>
  } else {
    scf.yield %full : tensor<4xf32>
  }

  // Whether the tensor still holds the first copy, or what is there then, is not
  // for the pass to say.
  commsched.fsdp_copy %next into %p {commsched.name = "second"} : tensor<4xf32>, memref<4xf32>
  // expected-remark@below {{late uses what was read of it before commsched.fsdp_copy 'second'}}
  %y = commsched.compute "late"(%w) : (tensor<4xf32>) -> tensor<4xf32>

  // The last use is in a region that also writes.
  // expected-remark@below {{scf.if may write what commsched.fsdp_copy copied into it}}
  scf.if %c {
    commsched.compute "zero_"(%full) {mutates = array<i64: 0>} : (tensor<4xf32>) -> ()
    %x = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
    commsched.compute "print"(%x) : (tensor<4xf32>) -> ()
  }

// -----

commsched.group @dp size(4)

func.func @freed(%p: memref<4xf32>, %full: tensor<4xf32>) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %view = tensor.expand_shape %w [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %future = commsched.all_reduce %full on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  commsched.resize_storage %p bytes(0) {commsched.name = "free"} : memref<4xf32>
  ROW
  %sum = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

// -----

  // Through a view.
  // expected-remark@below {{late uses what was read of it before commsched.resize_storage 'free'}}
  %y = commsched.compute "late"(%view) : (tensor<2x2xf32>) -> tensor<4xf32>

  // What stays is not looked at any further: its empty storage may be read.
  %r = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  // expected-remark@below {{late uses what was read of it before commsched.resize_storage}}
  %y = commsched.compute "late"(%w, %r) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

commsched.group @dp size(4)

// What is sent is read until the wait.
func.func @in_flight_at_the_end(%p: memref<4xf32>, %full: tensor<4xf32>) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %future = commsched.all_reduce %w on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  // expected-remark@below {{commsched.wait uses what was read of it before commsched.resize_storage}}
  %sum = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

func.func @other_encoding(%p: memref<4xf32>, %full: tensor<4xf32, "rows">) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32, "rows">, memref<4xf32>
  // expected-remark@below {{bufferization.to_tensor yields another type than what was copied into it}}
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// One buffer for all gathers: the second writes what the first has delivered.
func.func @buffer_gathered_into_again(
    %p: memref<4xf32>, %a: tensor<1xf32>, %buffer: tensor<4xf32>) {
  $run(%full = all_gather %a on @dp dim(0) into %buffer : tensor<1xf32> into tensor<4xf32> -> tensor<4xf32>)
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  // expected-remark@below {{'%arg0' keeps its storage: commsched.all_gather 'second' may write what commsched.fsdp_copy copied into it, before the last use of the copy}}
  %future1 = commsched.all_gather %a on @dp dim(0) into %buffer
      {commsched.name = "second"}
      : tensor<1xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  %next = commsched.wait %future1 : !commsched.future<tensor<4xf32>>
  return
}

// A source in memory that a call may write, though it is not passed to it.
func.func private @anything()
func.func @source_in_unknown_memory(%p: memref<4xf32>, %m: memref<4xf32>) {
  %full = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  // expected-remark@below {{func.call may write what commsched.fsdp_copy copied into it}}
  func.call @anything() : () -> ()
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// -----

func.func @second(%p: memref<4xf32>, %q: memref<4xf32>, %full: tensor<4xf32>, %c: i1) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %v = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  commsched.resize_storage %q bytes(16) : memref<4xf32>
  ROW
  %w = bufferization.to_tensor %q : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %q bytes(0) : memref<4xf32>
  return
}

// -----

  // Neither end of a copy between parameters can go without the other.
  // expected-remark@below {{'%arg0' keeps its storage: commsched.fsdp_copy 'second' copies from it into a parameter}}
  // expected-remark@below {{'%arg1' keeps its storage: commsched.fsdp_copy 'second' copies from a parameter}}
  commsched.fsdp_copy %v into %q {commsched.name = "second"} : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>

  // The source may be a parameter that stays, and that is freed before the last
  // use of the copy.
  // expected-remark@below {{'%arg0' keeps its storage: arith.select may pass it on}}
  %s = arith.select %c, %v, %full : tensor<4xf32>
  commsched.fsdp_copy %s into %q : tensor<4xf32>, memref<4xf32>
  // expected-remark@below {{'%arg1' keeps its storage: commsched.resize_storage 'free' may write what commsched.fsdp_copy copied into it}}
  commsched.resize_storage %p bytes(0) {commsched.name = "free"} : memref<4xf32>
