// RUN: commsched-opt %s -o %t.before
// RUN: commsched-opt %s --commsched-remove-unsharded-param-usage \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: FileCheck %s --implicit-check-not=remark: < %t.remarks

// Parameters that keep their storage, and why; nothing changes.

commsched.group @dp size(4)

// CHECK: remark: [Missed] ParameterKept | Category:commsched | Function=never_freed
// CHECK-SAME: 'p' keeps its storage: it is grown 1 time(s), but freed 0
func.func @never_freed(%p: memref<4xf32> {commsched.name = "p"},
                       %full: tensor<4xf32>, %v: f32, %i: index)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  // No error: it is not a parameter that may go.
  memref.store %v, %p[%i] : memref<4xf32>
  return %w : tensor<4xf32>
}

// CHECK: remark: {{.*}} Function=never_resized
// CHECK-SAME: '%arg0' keeps its storage: it is filled, but never freed
func.func @never_resized(%p: memref<4xf32>, %full: tensor<4xf32>) {
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  return
}

// It comes with storage, and goes with it.
// CHECK: [[@LINE+4]]:3: remark: {{.*}} Function=freed_first
// CHECK-SAME: it is not grown and freed in turns
func.func @freed_first(%p: memref<4xf32>, %full: tensor<4xf32>)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK: [[@LINE+4]]:3: remark: {{.*}} Function=grown_twice
// CHECK-SAME: it is not grown and freed in turns
func.func @grown_twice(%p: memref<4xf32>, %full: tensor<4xf32>) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// CHECK: remark: {{.*}} Function=freed_in_a_region
// CHECK-SAME: commsched.resize_storage is not in the first block of the function
func.func @freed_in_a_region(%p: memref<4xf32>, %full: tensor<4xf32>, %c: i1) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  scf.if %c {
    commsched.resize_storage %p bytes(0) : memref<4xf32>
  }
  return
}

// CHECK: remark: {{.*}} Function=filled_in_another_block
// CHECK-SAME: commsched.fsdp_copy is not in the first block of the function
func.func @filled_in_another_block(%p: memref<4xf32>, %full: tensor<4xf32>) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  cf.br ^next
^next:
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  return
}

// The view is no argument, and the argument not resized in turns.
// CHECK: remark: {{.*}} Function=grown_through_a_view
// CHECK-SAME: the memref keeps its storage: it is no argument of the function
// CHECK: remark: {{.*}} Function=grown_through_a_view
// CHECK-SAME: '%arg0' keeps its storage: commsched.resize_storage works on a view of it
func.func @grown_through_a_view(%p: memref<4xf32>, %full: tensor<4xf32>) {
  %v = memref.expand_shape %p [[0, 1]] output_shape [2, 2]
      : memref<4xf32> into memref<2x2xf32>
  commsched.resize_storage %v bytes(16) : memref<2x2xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// CHECK: remark: {{.*}} Function=no_argument
// CHECK-SAME: the memref keeps its storage: it is no argument of the function
func.func @no_argument(%full: tensor<4xf32>) -> memref<4xf32> {
  %m = memref.alloc() : memref<4xf32>
  commsched.fsdp_copy %full into %m : tensor<4xf32>, memref<4xf32>
  return %m : memref<4xf32>
}

// CHECK: remark: {{.*}} Function=memref_read
// CHECK-SAME: memref.load reads the memref itself
func.func @memref_read(%p: memref<4xf32>, %full: tensor<4xf32>, %i: index)
    -> f32 {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %v = memref.load %p[%i] : memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %v : f32
}

// CHECK: remark: {{.*}} Function=viewed
// CHECK-SAME: memref.cast makes a view of it
func.func @viewed(%p: memref<4xf32>, %full: tensor<4xf32>)
    -> tensor<?xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %m = memref.cast %p : memref<4xf32> to memref<?xf32>
  %w = bufferization.to_tensor %m : memref<?xf32> to tensor<?xf32>
  %y = commsched.compute "y"(%w) : (tensor<?xf32>) -> tensor<?xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %y : tensor<?xf32>
}

// CHECK: remark: {{.*}} Function=memref_returned
// CHECK-SAME: func.return may pass it on
func.func @memref_returned(%p: memref<4xf32>, %full: tensor<4xf32>)
    -> memref<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %p : memref<4xf32>
}

// CHECK: remark: {{.*}} Function=view_of_the_tensor_returned
// CHECK-SAME: func.return may pass it on
func.func @view_of_the_tensor_returned(%p: memref<4xf32>, %full: tensor<4xf32>)
    -> tensor<2x2xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %view = commsched.compute "view"(%w) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<2x2xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %view : tensor<2x2xf32>
}

// CHECK: remark: {{.*}} Function=tensor_passed_to_a_call
// CHECK-SAME: func.call may pass it on
func.func private @unknown(tensor<4xf32>) -> tensor<4xf32>
func.func @tensor_passed_to_a_call(%p: memref<4xf32>, %full: tensor<4xf32>)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %y = func.call @unknown(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %y : tensor<4xf32>
}

// CHECK: remark: {{.*}} Function=selected
// CHECK-SAME: arith.select may pass it on
func.func @selected(%p: memref<4xf32>, %full: tensor<4xf32>, %c: i1)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %s = arith.select %c, %w, %full : tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %s : tensor<4xf32>
}

// In a region the view goes where nothing tells it apart.
// CHECK: remark: {{.*}} Function=yielded
// CHECK-SAME: scf.yield may pass it on
func.func @yielded(%p: memref<4xf32>, %full: tensor<4xf32>, %c: i1)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %r = scf.if %c -> tensor<4xf32> {
    %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  } else {
    scf.yield %full : tensor<4xf32>
  }
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %r : tensor<4xf32>
}

// Neither end of a copy between parameters can go without the other.
// CHECK: remark: {{.*}} Function=parameter_to_parameter
// CHECK-SAME: '%arg0' keeps its storage: commsched.fsdp_copy 'second' copies from it into a parameter
// CHECK: remark: {{.*}} Function=parameter_to_parameter
// CHECK-SAME: '%arg1' keeps its storage: commsched.fsdp_copy 'second' copies from a parameter
func.func @parameter_to_parameter(%p: memref<4xf32>, %q: memref<4xf32>,
                                  %full: tensor<4xf32>) -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p {commsched.name = "first"}
      : tensor<4xf32>, memref<4xf32>
  %v = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  commsched.resize_storage %q bytes(16) : memref<4xf32>
  commsched.fsdp_copy %v into %q {commsched.name = "second"}
      : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  %w = bufferization.to_tensor %q : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %q bytes(0) : memref<4xf32>
  return %y : tensor<4xf32>
}

// Whether the tensor still holds the first copy, or what is there then, is not
// for the pass to say.
// CHECK: remark: {{.*}} Function=used_after_the_next_copy
// CHECK-SAME: late uses what was read of it before commsched.fsdp_copy 'second'
func.func @used_after_the_next_copy(%p: memref<4xf32>, %a: tensor<4xf32>,
                                    %b: tensor<4xf32>) -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %a into %p {commsched.name = "first"}
      : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  commsched.fsdp_copy %b into %p {commsched.name = "second"}
      : tensor<4xf32>, memref<4xf32>
  %y = commsched.compute "late"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %y : tensor<4xf32>
}

// Through a view, freed.
// CHECK: remark: {{.*}} Function=view_used_after_the_end
// CHECK-SAME: late uses what was read of it before commsched.resize_storage 'free'
func.func @view_used_after_the_end(%p: memref<4xf32>, %a: tensor<4xf32>)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %a into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %view = tensor.expand_shape %w [[0, 1]] output_shape [2, 2]
      : tensor<4xf32> into tensor<2x2xf32>
  commsched.resize_storage %p bytes(0) {commsched.name = "free"}
      : memref<4xf32>
  %y = commsched.compute "late"(%view) : (tensor<2x2xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// What stays is not looked at any further: its empty storage may be read.
// CHECK: remark: {{.*}} Function=read_when_it_is_kept
// CHECK-SAME: late uses what was read of it before commsched.resize_storage
func.func @read_when_it_is_kept(%p: memref<4xf32>, %a: tensor<4xf32>)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %a into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  %r = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "late"(%w, %r)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// What is sent is read until the wait.
// CHECK: remark: {{.*}} Function=in_flight_at_the_end
// CHECK-SAME: commsched.wait uses what was read of it before commsched.resize_storage
func.func @in_flight_at_the_end(%p: memref<4xf32>, %full: tensor<4xf32>)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %future = commsched.all_reduce %w on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  %sum = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return %sum : tensor<4xf32>
}

// CHECK: remark: {{.*}} Function=other_encoding
// CHECK-SAME: bufferization.to_tensor yields another type than what was copied into it
func.func @other_encoding(%p: memref<4xf32>, %full: tensor<4xf32, "rows">)
    -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32, "rows">, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %y : tensor<4xf32>
}

// One buffer for all gathers: the second writes what the first has delivered.
// CHECK: remark: {{.*}} Function=buffer_gathered_into_again
// CHECK-SAME: '%arg0' keeps its storage: commsched.all_gather 'second' may write what commsched.fsdp_copy copied into it, before the last use of the copy
func.func @buffer_gathered_into_again(
    %p: memref<4xf32>, %a: tensor<1xf32>, %b: tensor<1xf32>,
    %buffer: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %future0 = commsched.all_gather %a on @dp dim(0) into %buffer
      : tensor<1xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %full = commsched.wait %future0 : !commsched.future<tensor<4xf32>>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %future1 = commsched.all_gather %b on @dp dim(0) into %buffer
      {commsched.name = "second"}
      : tensor<1xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  %next = commsched.wait %future1 : !commsched.future<tensor<4xf32>>
  return %y, %next : tensor<4xf32>, tensor<4xf32>
}

// The last use is in a region that also writes.
// CHECK: remark: {{.*}} Function=source_written_in_a_region
// CHECK-SAME: scf.if may write what commsched.fsdp_copy copied into it
func.func @source_written_in_a_region(%p: memref<4xf32>, %full: tensor<4xf32>,
                                      %c: i1) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  scf.if %c {
    commsched.compute "zero_"(%full) {mutates = array<i64: 0>}
        : (tensor<4xf32>) -> ()
    %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
    commsched.compute "print"(%w) : (tensor<4xf32>) -> ()
  }
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// A source in memory that a call may write, though it is not passed to it.
// CHECK: remark: {{.*}} Function=source_in_unknown_memory
// CHECK-SAME: func.call may write what commsched.fsdp_copy copied into it
func.func private @anything()
func.func @source_in_unknown_memory(%p: memref<4xf32>, %m: memref<4xf32>)
    -> tensor<4xf32> {
  %full = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  func.call @anything() : () -> ()
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return %y : tensor<4xf32>
}

// The source may be a parameter that stays, and that is freed before the last
// use of the copy.
// CHECK: remark: {{.*}} Function=source_may_be_a_parameter
// CHECK-SAME: '%arg0' keeps its storage: arith.select may pass it on
// CHECK: remark: {{.*}} Function=source_may_be_a_parameter
// CHECK-SAME: '%arg1' keeps its storage: commsched.resize_storage 'free' may write what commsched.fsdp_copy copied into it
func.func @source_may_be_a_parameter(
    %p: memref<4xf32> {commsched.role = "unsharded_param"},
    %q: memref<4xf32> {commsched.role = "unsharded_param"},
    %full: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %v = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %s = arith.select %c, %v, %full : tensor<4xf32>
  commsched.resize_storage %q bytes(16) : memref<4xf32>
  commsched.fsdp_copy %s into %q : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) {commsched.name = "free"}
      : memref<4xf32>
  %w = bufferization.to_tensor %q : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %q bytes(0) : memref<4xf32>
  return %y : tensor<4xf32>
}

func.func private @declaration(memref<4xf32>)
