// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-raise-comms \
// RUN:   | FileCheck %s

// What keeps operations in order beside SSA values. In every function the last
// collective depends on the operation "leads", which therefore rises above all
// that it need not follow: "free" shows that it moves, and what still stands
// ahead of "leads" is there because of the rule that the function is named for.

commsched.group @g size(4)
commsched.group @h size(2)
func.func private @unknown()
func.func private @writes_argument(tensor<4xf32>)

// CHECK-LABEL: func.func @reader_before_write_in_place(
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @reader_before_write_in_place(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "reader"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l = commsched.compute "leads"(%x) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// CHECK-LABEL: func.func @reader_after_write_in_place(
// CHECK-NEXT: compute "add_"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @reader_after_write_in_place(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %a = commsched.compute "add_"(%x) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %l = commsched.compute "leads"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// The reader reads a view of a view of what the other one writes through
// another view.
// CHECK-LABEL: func.func @write_through_views(
// CHECK-NEXT: compute "view1"
// CHECK-NEXT: tensor.expand_shape
// CHECK-NEXT: compute "view2"
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @write_through_views(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %v1 = commsched.compute "view1"(%x) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %v1b = tensor.expand_shape %v1 [[0, 1]] output_shape [2, 2]
      : tensor<4xf32> into tensor<2x2xf32>
  %v2 = commsched.compute "view2"(%x) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "reader"(%v1b) : (tensor<2x2xf32>) -> tensor<4xf32>
  %l = commsched.compute "leads"(%v2) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// The result of a choice may be either operand.
// CHECK-LABEL: func.func @write_through_a_choice(
// CHECK-NEXT: arith.select
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @write_through_a_choice(%x: tensor<4xf32>, %y: tensor<4xf32>,
                                  %z: tensor<4xf32>, %c: i1) {
  %free = commsched.compute "free"(%z) : (tensor<4xf32>) -> tensor<4xf32>
  %s = arith.select %c, %x, %y : tensor<4xf32>
  %r = commsched.compute "reader"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %l = commsched.compute "leads"(%s) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// A collective in place starts after the last reader of its buffer.
// CHECK-LABEL: func.func @start_in_place_after_readers(
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @start_in_place_after_readers(%x: tensor<4xf32>, %b: tensor<4xf32>) {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "reader"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %x on @g reduction(sum) into %b
      : tensor<4xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// Who reads the buffer by its old name does so after the wait.
// CHECK-LABEL: func.func @reader_of_buffer_after_wait(
// CHECK-NEXT: into
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @reader_of_buffer_after_wait(%x: tensor<4xf32>, %b: tensor<4xf32>) {
  %f = commsched.all_reduce %x on @g reduction(sum) into %b
      : tensor<4xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %l = commsched.compute "leads"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %f2 = commsched.all_reduce %l on @h reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  return
}

// What is sent is not overwritten before the wait.
// CHECK-LABEL: func.func @sent_value_is_overwritten_after_wait(
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @sent_value_is_overwritten_after_wait(%x: tensor<4xf32>,
                                                %y: tensor<4xf32>) {
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %l = commsched.compute "leads"(%x) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %f2 = commsched.all_reduce %l on @h reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  return
}

// An unsharded parameter is grown, filled, used and freed in this order.
// CHECK-LABEL: func.func @unsharded_parameter(
// CHECK-NEXT: resize_storage %{{.*}} bytes(16)
// CHECK-NEXT: fsdp_copy
// CHECK-NEXT: bufferization.to_tensor
// CHECK-NEXT: compute "use"
// CHECK-NEXT: resize_storage %{{.*}} bytes(0)
// CHECK-NEXT: resize_storage %{{.*}} bytes(16)
// CHECK-NEXT: fsdp_copy
// CHECK-NEXT: bufferization.to_tensor
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: resize_storage %{{.*}} bytes(0)
// CHECK-NEXT: commsched.wait
func.func @unsharded_parameter(
    %p: memref<4xf32> {commsched.role = "unsharded_param"},
    %full: tensor<4xf32>, %x: tensor<4xf32>) {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %t = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %u = commsched.compute "use"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %t2 = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %l = commsched.compute "leads"(%t2) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// Two memrefs with roles are different things; so "other" is not in the way.
// CHECK-LABEL: func.func @memrefs_with_roles(
// CHECK-NEXT: fsdp_copy %{{.*}} into %arg1
// CHECK-NEXT: bufferization.to_tensor %arg1
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: fsdp_copy %{{.*}} into %arg0
// CHECK-NEXT: commsched.wait
func.func @memrefs_with_roles(
    %p: memref<4xf32> {commsched.role = "unsharded_param"},
    %q: memref<4xf32> {commsched.role = "unsharded_param"},
    %x: tensor<4xf32>) {
  commsched.fsdp_copy %x into %p : tensor<4xf32>, memref<4xf32>
  commsched.fsdp_copy %x into %q : tensor<4xf32>, memref<4xf32>
  %t = bufferization.to_tensor %q : memref<4xf32> to tensor<4xf32>
  %f = commsched.all_reduce %t on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// Without roles a caller may have passed one memref twice.
// CHECK-LABEL: func.func @memrefs_without_roles(
// CHECK-NEXT: fsdp_copy %{{.*}} into %arg0
// CHECK-NEXT: fsdp_copy %{{.*}} into %arg1
// CHECK-NEXT: bufferization.to_tensor %arg1
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: commsched.wait
func.func @memrefs_without_roles(%p: memref<4xf32>, %q: memref<4xf32>,
                                 %x: tensor<4xf32>) {
  commsched.fsdp_copy %x into %p : tensor<4xf32>, memref<4xf32>
  commsched.fsdp_copy %x into %q : tensor<4xf32>, memref<4xf32>
  %t = bufferization.to_tensor %q : memref<4xf32> to tensor<4xf32>
  %f = commsched.all_reduce %t on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// Loads and stores of one memref keep their order; its allocation is local.
// CHECK-LABEL: func.func @loads_and_stores(
// CHECK: memref.alloc
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.load
// CHECK-NEXT: memref.store
// CHECK-NEXT: bufferization.to_tensor
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
func.func @loads_and_stores(%x: tensor<4xf32>, %i: index, %v: f32) -> f32 {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %m = memref.alloc() : memref<4xf32>
  memref.store %v, %m[%i] : memref<4xf32>
  %old = memref.load %m[%i] : memref<4xf32>
  memref.store %v, %m[%i] : memref<4xf32>
  %t = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>
  %f = commsched.all_reduce %t on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %old : f32
}

// Once a tensor has a memref, an unknown operation may write the tensor.
// CHECK-LABEL: func.func @tensor_behind_a_memref(
// CHECK-NEXT: bufferization.to_buffer
// CHECK-NEXT: "foreign.keep"
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: "foreign.write"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @tensor_behind_a_memref(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %m = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
  "foreign.keep"(%m) : (memref<4xf32>) -> ()
  %r = commsched.compute "reader"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  "foreign.write"() : () -> ()
  %f = commsched.all_reduce %y on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// Random numbers are drawn in the order of the program.
// CHECK-LABEL: func.func @random_numbers(
// CHECK-NEXT: compute "dropout"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @random_numbers(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "dropout"(%x) {random}
      : (tensor<4xf32>) -> tensor<4xf32>
  %l = commsched.compute "leads"(%y) {random} : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// A call may draw random numbers, write any memory and write its arguments.
// CHECK-LABEL: func.func @calls(
// CHECK-NEXT: compute "random"
// CHECK-NEXT: compute "of_memory"
// CHECK-NEXT: compute "of_argument"
// CHECK-NEXT: call @writes_argument
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @calls(%x: tensor<4xf32>, %y: tensor<4xf32>, %m: memref<4xf32>) {
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "random"(%y) {random} : (tensor<4xf32>) -> tensor<4xf32>
  %s = commsched.compute "of_memory"(%m) : (memref<4xf32>) -> tensor<4xf32>
  %t = commsched.compute "of_argument"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.call @writes_argument(%x) : (tensor<4xf32>) -> ()
  %f = commsched.all_reduce %y on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// An operator without results is there for its effect.
// CHECK-LABEL: func.func @effects_keep_their_order(
// CHECK-NEXT: compute "print"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @effects_keep_their_order(%x: tensor<4xf32>, %m: memref<4xf32>) {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.compute "print"(%x) : (tensor<4xf32>) -> ()
  %l = commsched.compute "leads"(%m) : (memref<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// What a region captures, the operation that holds it uses.
// CHECK-LABEL: func.func @captured_values(
// CHECK-NEXT: compute "captured"
// CHECK-NEXT: scf.if
// CHECK: } else {
// CHECK: }
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
func.func @captured_values(%x: tensor<4xf32>, %c: i1) {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %a = commsched.compute "captured"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l = scf.if %c -> tensor<4xf32> {
    %r = commsched.compute "inner"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %r : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// A region writes, through a view of its own, what it captures. What it
// allocates itself concerns no other operation: the reader of memory is free.
// CHECK-LABEL: func.func @regions_write_what_they_capture(
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: scf.if
// CHECK: } else {
// CHECK: }
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
func.func @regions_write_what_they_capture(
    %x: tensor<4xf32>, %m: memref<4xf32>, %v: f32, %i: index, %c: i1) {
  %free = commsched.compute "free"(%m) : (memref<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "reader"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l = scf.if %c -> tensor<4xf32> {
    %local = memref.alloc() : memref<4xf32>
    memref.store %v, %local[%i] : memref<4xf32>
    %view = commsched.compute "view"(%x) {alias = 0 : i64}
        : (tensor<4xf32>) -> tensor<4xf32>
    %y = commsched.compute "add_"(%view) {mutates = array<i64: 0>}
        : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  } else {
    %y = commsched.compute "zero"() : () -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  }
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// A loop may write in place what it starts from.
// CHECK-LABEL: func.func @loops_write_their_arguments(
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: scf.for
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
func.func @loops_write_their_arguments(%x: tensor<4xf32>, %y: tensor<4xf32>,
                                       %n: index) {
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "reader"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %s = scf.for %i = %n to %n step %n iter_args(%it = %x) -> tensor<4xf32> {
    %t = commsched.compute "add_"(%it) {mutates = array<i64: 0>}
        : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  %f = commsched.all_reduce %s on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// What a loop yields may be what it starts from.
// CHECK-LABEL: func.func @results_of_loops_are_written(
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: scf.for
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: compute "reader2"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
func.func @results_of_loops_are_written(%x: tensor<4xf32>, %y: tensor<4xf32>,
                                        %n: index) {
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "reader"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %s = scf.for %i = %n to %n step %n iter_args(%it = %x) -> tensor<4xf32> {
    %t = commsched.compute "add_"(%it) {alias = 0 : i64, mutates = array<i64: 0>}
        : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  %r2 = commsched.compute "reader2"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l = commsched.compute "leads"(%s) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %l on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return
}

// Who reads a value stays before the loop that takes over its storage. The loop
// does not take over what it passes on.
// CHECK-LABEL: func.func @loops_take_over_storage(
// CHECK-NEXT: compute "x"
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: scf.for
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: compute "free"
func.func @loops_take_over_storage(%y: tensor<4xf32>, %n: index)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %x = commsched.compute "x"() : () -> tensor<4xf32>
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %free2 = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "reader"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %s:2 = scf.for %i = %n to %n step %n iter_args(%it = %x, %on = %y)
      -> (tensor<4xf32>, tensor<4xf32>) {
    %t = commsched.compute "t"(%it, %on)
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %t, %on : tensor<4xf32>, tensor<4xf32>
  }
  %f = commsched.all_reduce %s#0 on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %free, %free2 : tensor<4xf32>, tensor<4xf32>
}

// Who reads a value stays before the update of a part of it in place.
// CHECK-LABEL: func.func @updates_take_over_storage(
// CHECK-NEXT: compute "x"
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: tensor.insert_slice
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
func.func @updates_take_over_storage(%y: tensor<4xf32>, %u: tensor<2xf32>)
    -> tensor<4xf32> {
  %x = commsched.compute "x"() : () -> tensor<4xf32>
  %free = commsched.compute "free"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %r = commsched.compute "reader"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %s = tensor.insert_slice %u into %x[0] [2] [1]
      : tensor<2xf32> into tensor<4xf32>
  %f = commsched.all_reduce %s on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %free : tensor<4xf32>
}

// In the block of a region, values from outside are ordered too; nothing tells
// which of them are the same memory.
// CHECK-LABEL: func.func @values_from_outside_of_the_block(
// CHECK: scf.if
// CHECK-NEXT: compute "reader"
// CHECK-NEXT: compute "leads"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
func.func @values_from_outside_of_the_block(%x: tensor<4xf32>, %c: i1) {
  %v = commsched.compute "view"(%x) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  scf.if %c {
    %z = commsched.compute "free"() : () -> tensor<4xf32>
    %r = commsched.compute "reader"(%v) : (tensor<4xf32>) -> tensor<4xf32>
    %l = commsched.compute "leads"(%x) {mutates = array<i64: 0>}
        : (tensor<4xf32>) -> tensor<4xf32>
    %f = commsched.all_reduce %l on @g reduction(sum)
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  }
  return
}

// A block without a terminator: its last operation is scheduled like the rest.
// (An unknown operation of one region could be a symbol table of its own; this
// one has two.)
// CHECK-LABEL: func.func @block_without_terminator(
// CHECK-NEXT: "foreign.region"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: compute "free"
// CHECK-NEXT: commsched.wait
func.func @block_without_terminator(%x: tensor<4xf32>) {
  "foreign.region"() ({
    %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %f = commsched.all_reduce %x on @g reduction(sum)
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  }, {}) : () -> ()
  return
}
