// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -split-input-file --allow-unregistered-dialect \
// RUN:   --commsched-raise-comms | %orders | FileCheck %t.mlir

// What keeps operations in order beside SSA values. In every function the last
// collective depends on the operation "leads", which therefore rises above all
// that it need not follow: "free" shows that it moves, and what still stands
// ahead of "leads" is there because of the rule of the row.

!t = tensor<4xf32>
!memory = memref<4xf32>
commsched.group @g size(4)
commsched.group @h size(2)

// CHECK-LABEL: func.func @row(
// CHECK-NEXT: // order:{{.*}}
func.func @row(%x: !t, %y: !t, %z: !t, %m: !memory, %c: i1) {
  %free = commsched.compute "free"(%z) : (!t) -> !t
  ROW
  // CHECK-NEXT: compute "leads"
  // CHECK-NEXT: commsched.all_reduce
  // CHECK-NEXT: compute "free"
  // CHECK-NEXT: commsched.wait
  $run(%last = all_reduce %l on @h reduction(sum) : !t -> !t)
  return
}

// -----

// Who reads a value does so before it is written in place.
// CHECK-NEXT: compute "reader"
%r = commsched.compute "reader"(%x) : (!t) -> !t
%l = commsched.compute "leads"(%x) {mutates = array<i64: 0>} : (!t) -> !t
// Who reads it behind that does so afterwards.
// CHECK-NEXT: compute "add_"
%a = commsched.compute "add_"(%x) {mutates = array<i64: 0>} : (!t) -> !t
%l = commsched.compute "leads"(%x) : (!t) -> !t
// The reader reads a view of a view of what the other one writes through another view.
// CHECK-NEXT: compute "view1"
// CHECK-NEXT: tensor.expand_shape
// CHECK-NEXT: compute "view2"
// CHECK-NEXT: compute "reader"
%v1 = commsched.compute "view1"(%x) {alias = 0 : i64} : (!t) -> !t
%v1b = tensor.expand_shape %v1 [[0, 1]] output_shape [2, 2] : !t into tensor<2x2xf32>
%v2 = commsched.compute "view2"(%x) {alias = 0 : i64} : (!t) -> !t
%r = commsched.compute "reader"(%v1b) : (tensor<2x2xf32>) -> !t
%l = commsched.compute "leads"(%v2) {mutates = array<i64: 0>} : (!t) -> !t
// The result of a choice may be either operand.
// CHECK-NEXT: arith.select
// CHECK-NEXT: compute "reader"
%s = arith.select %c, %x, %y : !t
%r = commsched.compute "reader"(%y) : (!t) -> !t
%l = commsched.compute "leads"(%s) {mutates = array<i64: 0>} : (!t) -> !t
// Who reads the buffer by its old name does so after the wait.
// CHECK-NEXT: into
// CHECK-NEXT: commsched.wait
$run(%w = all_reduce %x on @g reduction(sum) into %y : !t into !t -> !t)
%l = commsched.compute "leads"(%y) : (!t) -> !t
// What is sent is not overwritten before the wait.
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: commsched.wait
$run(%w = all_reduce %x on @g reduction(sum) : !t -> !t)
%l = commsched.compute "leads"(%x) {mutates = array<i64: 0>} : (!t) -> !t
// Random numbers are drawn in the order of the program.
// CHECK-NEXT: compute "dropout"
%r = commsched.compute "dropout"(%x) {random} : (!t) -> !t
%l = commsched.compute "leads"(%y) {random} : (!t) -> !t
// An operator without results is there for its effect.
// CHECK-NEXT: compute "print"
commsched.compute "print"(%x) : (!t) -> ()
%l = commsched.compute "leads"(%m) : (!memory) -> !t

// -----

!t = tensor<4xf32>
!memory = memref<4xf32>
!future = !commsched.future<!t>
commsched.group @g size(4)
func.func private @unknown()
func.func private @writes_argument(!t)

// A collective in place starts after the last reader of its buffer.
// CHECK-LABEL: func.func @start_in_place_after_readers(
// CHECK-NEXT: // order: reader all_reduce free wait{{$}}
func.func @start_in_place_after_readers(%x: !t, %b: !t) {
  %free = commsched.compute "free"(%x) : (!t) -> !t
  %r = commsched.compute "reader"(%b) : (!t) -> !t
  $run(%w = all_reduce %x on @g reduction(sum) into %b : !t into !t -> !t)
  return
}

// An unsharded parameter is grown, filled, used and freed in this order.
// CHECK-LABEL: func.func @unsharded_parameter(
// CHECK-NEXT: // order: resize_storage fsdp_copy bufferization.to_tensor use resize_storage resize_storage fsdp_copy bufferization.to_tensor leads all_reduce free resize_storage wait{{$}}
func.func @unsharded_parameter(%p: !memory {commsched.role = "unsharded_param"},
    %full: !t, %x: !t) {
  %free = commsched.compute "free"(%x) : (!t) -> !t
  commsched.resize_storage %p bytes(16) : !memory
  commsched.fsdp_copy %full into %p : !t, !memory
  %t = bufferization.to_tensor %p : !memory to !t
  %u = commsched.compute "use"(%t) : (!t) -> !t
  commsched.resize_storage %p bytes(0) : !memory
  commsched.resize_storage %p bytes(16) : !memory
  commsched.fsdp_copy %full into %p : !t, !memory
  %t2 = bufferization.to_tensor %p : !memory to !t
  %l = commsched.compute "leads"(%t2) : (!t) -> !t
  commsched.resize_storage %p bytes(0) : !memory
  $run(%w = all_reduce %l on @g reduction(sum) : !t -> !t)
  return
}

// Two memrefs with roles are different things; so "other" is not in the way.
// CHECK-LABEL: func.func @memrefs_with_roles(
// CHECK-NEXT: // order:{{.*}}
// CHECK-NEXT: fsdp_copy %{{.*}} into %arg1
// CHECK-NEXT: bufferization.to_tensor %arg1
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: fsdp_copy %{{.*}} into %arg0
// CHECK-NEXT: commsched.wait
func.func @memrefs_with_roles(%p: !memory {commsched.role = "unsharded_param"},
    %q: !memory {commsched.role = "unsharded_param"}, %x: !t) {
  commsched.fsdp_copy %x into %p : !t, !memory
  commsched.fsdp_copy %x into %q : !t, !memory
  %t = bufferization.to_tensor %q : !memory to !t
  $run(%w = all_reduce %t on @g reduction(sum) : !t -> !t)
  return
}

// Without roles a caller may have passed one memref twice.
// CHECK-LABEL: func.func @memrefs_without_roles(
// CHECK-NEXT: // order:{{.*}}
// CHECK-NEXT: fsdp_copy %{{.*}} into %arg0
// CHECK-NEXT: fsdp_copy %{{.*}} into %arg1
// CHECK-NEXT: bufferization.to_tensor %arg1
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: commsched.wait
func.func @memrefs_without_roles(%p: !memory, %q: !memory, %x: !t) {
  commsched.fsdp_copy %x into %p : !t, !memory
  commsched.fsdp_copy %x into %q : !t, !memory
  %t = bufferization.to_tensor %q : !memory to !t
  $run(%w = all_reduce %t on @g reduction(sum) : !t -> !t)
  return
}

// Loads and stores of one memref keep their order; its allocation is local.
// CHECK-LABEL: func.func @loads_and_stores(
// CHECK-NEXT: // order: memref.alloc memref.store memref.load memref.store bufferization.to_tensor all_reduce free wait{{$}}
func.func @loads_and_stores(%x: !t, %i: index, %v: f32) -> f32 {
  %free = commsched.compute "free"(%x) : (!t) -> !t
  %m = memref.alloc() : !memory
  memref.store %v, %m[%i] : !memory
  %old = memref.load %m[%i] : !memory
  memref.store %v, %m[%i] : !memory
  %t = bufferization.to_tensor %m : !memory to !t
  $run(%w = all_reduce %t on @g reduction(sum) : !t -> !t)
  return %old : f32
}

// Once a tensor has a memref, an unknown operation may write the tensor.
// CHECK-LABEL: func.func @tensor_behind_a_memref(
// CHECK-NEXT: // order: bufferization.to_buffer foreign.keep reader foreign.write all_reduce free wait{{$}}
func.func @tensor_behind_a_memref(%x: !t, %y: !t) {
  %free = commsched.compute "free"(%y) : (!t) -> !t
  %m = bufferization.to_buffer %x : !t to !memory
  "foreign.keep"(%m) : (!memory) -> ()
  %r = commsched.compute "reader"(%x) : (!t) -> !t
  "foreign.write"() : () -> ()
  $run(%w = all_reduce %y on @g reduction(sum) : !t -> !t)
  return
}

// A call may draw random numbers, write any memory and write its arguments.
// CHECK-LABEL: func.func @calls(
// CHECK-NEXT: // order: random of_memory of_argument call all_reduce free wait{{$}}
func.func @calls(%x: !t, %y: !t, %m: !memory) {
  %free = commsched.compute "free"(%y) : (!t) -> !t
  %r = commsched.compute "random"(%y) {random} : (!t) -> !t
  %s = commsched.compute "of_memory"(%m) : (!memory) -> !t
  %t = commsched.compute "of_argument"(%x) : (!t) -> !t
  func.call @writes_argument(%x) : (!t) -> ()
  $run(%w = all_reduce %y on @g reduction(sum) : !t -> !t)
  return
}

// What a region captures, the operation that holds it uses.
// CHECK-LABEL: func.func @captured_values(
// CHECK-NEXT: // order: captured scf.if { inner scf.yield } else { scf.yield } all_reduce free wait{{$}}
func.func @captured_values(%x: !t, %c: i1) {
  %free = commsched.compute "free"(%x) : (!t) -> !t
  %a = commsched.compute "captured"(%x) : (!t) -> !t
  %l = scf.if %c -> !t {
    %r = commsched.compute "inner"(%a) : (!t) -> !t
    scf.yield %r : !t
  } else {
    scf.yield %x : !t
  }
  $run(%w = all_reduce %l on @g reduction(sum) : !t -> !t)
  return
}

// A region writes, through a view of its own, what it captures. What it
// allocates itself concerns no other operation: the reader of memory is free.
// CHECK-LABEL: func.func @regions_write_what_they_capture(
// CHECK-NEXT: // order: reader scf.if { memref.alloc memref.store view add_ scf.yield } else { zero scf.yield } all_reduce free wait{{$}}
func.func @regions_write_what_they_capture(%x: !t, %m: !memory, %v: f32, %i: index, %c: i1) {
  %free = commsched.compute "free"(%m) : (!memory) -> !t
  %r = commsched.compute "reader"(%x) : (!t) -> !t
  %l = scf.if %c -> !t {
    %local = memref.alloc() : !memory
    memref.store %v, %local[%i] : !memory
    %view = commsched.compute "view"(%x) {alias = 0 : i64} : (!t) -> !t
    %y = commsched.compute "add_"(%view) {mutates = array<i64: 0>} : (!t) -> !t
    scf.yield %y : !t
  } else {
    %y = commsched.compute "zero"() : () -> !t
    scf.yield %y : !t
  }
  $run(%w = all_reduce %l on @g reduction(sum) : !t -> !t)
  return
}

// A loop may write in place what it starts from.
// CHECK-LABEL: func.func @loops_write_their_arguments(
// CHECK-NEXT: // order: reader scf.for { add_ scf.yield } all_reduce free wait{{$}}
func.func @loops_write_their_arguments(%x: !t, %y: !t, %n: index) {
  %free = commsched.compute "free"(%y) : (!t) -> !t
  %r = commsched.compute "reader"(%x) : (!t) -> !t
  %s = scf.for %i = %n to %n step %n iter_args(%it = %x) -> !t {
    %t = commsched.compute "add_"(%it) {mutates = array<i64: 0>} : (!t) -> !t
    scf.yield %t : !t
  }
  $run(%w = all_reduce %s on @g reduction(sum) : !t -> !t)
  return
}

// What a loop yields may be what it starts from.
// CHECK-LABEL: func.func @results_of_loops_are_written(
// CHECK-NEXT: // order: reader scf.for { add_ scf.yield } reader2 leads all_reduce free wait{{$}}
func.func @results_of_loops_are_written(%x: !t, %y: !t, %n: index) {
  %free = commsched.compute "free"(%y) : (!t) -> !t
  %r = commsched.compute "reader"(%x) : (!t) -> !t
  %s = scf.for %i = %n to %n step %n iter_args(%it = %x) -> !t {
    %t = commsched.compute "add_"(%it) {alias = 0 : i64, mutates = array<i64: 0>} : (!t) -> !t
    scf.yield %t : !t
  }
  %r2 = commsched.compute "reader2"(%x) : (!t) -> !t
  %l = commsched.compute "leads"(%s) {mutates = array<i64: 0>} : (!t) -> !t
  $run(%w = all_reduce %l on @g reduction(sum) : !t -> !t)
  return
}

// Who reads a value stays before the loop that takes over its storage. The loop
// does not take over what it passes on.
// CHECK-LABEL: func.func @loops_take_over_storage(
// CHECK-NEXT: // order: x reader scf.for { t scf.yield } all_reduce free free wait{{$}}
func.func @loops_take_over_storage(%y: !t, %n: index) -> (!t, !t) {
  %x = commsched.compute "x"() : () -> !t
  %free = commsched.compute "free"(%y) : (!t) -> !t
  %free2 = commsched.compute "free"(%y) : (!t) -> !t
  %r = commsched.compute "reader"(%x) : (!t) -> !t
  %s:2 = scf.for %i = %n to %n step %n iter_args(%it = %x, %on = %y) -> (!t, !t) {
    %t = commsched.compute "t"(%it, %on) : (!t, !t) -> !t
    scf.yield %t, %on : !t, !t
  }
  $run(%w = all_reduce %s#0 on @g reduction(sum) : !t -> !t)
  return %free, %free2 : !t, !t
}

// Who reads a value stays before the update of a part of it in place.
// CHECK-LABEL: func.func @updates_take_over_storage(
// CHECK-NEXT: // order: x reader tensor.insert_slice all_reduce free wait{{$}}
func.func @updates_take_over_storage(%y: !t, %u: tensor<2xf32>) -> !t {
  %x = commsched.compute "x"() : () -> !t
  %free = commsched.compute "free"(%y) : (!t) -> !t
  %r = commsched.compute "reader"(%x) : (!t) -> !t
  %s = tensor.insert_slice %u into %x[0] [2] [1] : tensor<2xf32> into !t
  $run(%w = all_reduce %s on @g reduction(sum) : !t -> !t)
  return %free : !t
}

// In the block of a region, values from outside are ordered too; nothing tells
// which of them are the same memory.
// CHECK-LABEL: func.func @values_from_outside_of_the_block(
// CHECK-NEXT: // order: view scf.if { reader leads all_reduce free wait }{{$}}
func.func @values_from_outside_of_the_block(%x: !t, %c: i1) {
  %v = commsched.compute "view"(%x) {alias = 0 : i64} : (!t) -> !t
  scf.if %c {
    %z = commsched.compute "free"() : () -> !t
    %r = commsched.compute "reader"(%v) : (!t) -> !t
    %l = commsched.compute "leads"(%x) {mutates = array<i64: 0>} : (!t) -> !t
    $run(%w = all_reduce %l on @g reduction(sum) : !t -> !t)
  }
  return
}

// A block without a terminator: its last operation is scheduled like the rest.
// (An unknown operation of one region could be a symbol table of its own; this
// one has two.)
// CHECK-LABEL: func.func @block_without_terminator(
// CHECK-NEXT: // order: foreign.region { all_reduce free wait }, { }) : () -> (){{$}}
func.func @block_without_terminator(%x: !t) {
  "foreign.region"() ({
    %free = commsched.compute "free"(%x) : (!t) -> !t
    $run(%w = all_reduce %x on @g reduction(sum) : !t -> !t)
  }, {}) : () -> ()
  return
}
