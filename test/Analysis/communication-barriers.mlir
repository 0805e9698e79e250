// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --allow-unregistered-dialect --commsched-raise-comms \
// RUN:   | %orders | FileCheck %s --check-prefixes=CHECK,RAISE
// RUN: commsched-opt %t.mlir --allow-unregistered-dialect --commsched-sink-waits \
// RUN:   | %orders | FileCheck %s --check-prefixes=CHECK,SINK

LET $run(W = X, G) W.start = commsched.all_reduce X on G reduction(sum) {commsched.name = "X"} : !t -> !future
  W = commsched.wait W.start : !future

// Nothing that communicates crosses an operation whose communication nothing
// describes, an operation that holds collectives in a region, or a blocking
// collective. What only computes does, as "free" shows.

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @g size(4)
commsched.group @h size(2)
func.func private @unknown()

// CHECK-LABEL: func.func @unregistered_operation(
// RAISE-NEXT: // order: %x wait foreign.op %y free wait{{$}}
// SINK-NEXT: // order: free %x wait foreign.op %y wait{{$}}
func.func @unregistered_operation(%x: !t, %y: !t) {
  %free = commsched.compute "free"(%x) : (!t) -> !t
  $run(%w = %x, @g)
  "foreign.op"() : () -> ()
  $run(%w2 = %y, @h)
  return
}

// CHECK-LABEL: func.func @call(
// RAISE-NEXT: // order: %x wait call %y free wait{{$}}
func.func @call(%x: !t, %y: !t) {
  %free = commsched.compute "free"(%x) : (!t) -> !t
  $run(%w = %x, @g)
  func.call @unknown() : () -> ()
  $run(%w2 = %y, @h)
  return
}

// The barrier is of another group, and still a start does not rise above it nor
// a wait sink below it; the computation behind it does come ahead of the wait.
// CHECK-LABEL: func.func @blocking_collective(
// SINK-NEXT: // order: %x first second wait barrier %y wait{{$}}
// RAISE-NEXT: // order: %x wait barrier %y first wait second{{$}}
func.func @blocking_collective(%x: !t, %y: !t) {
  $run(%w = %x, @g)
  %free = commsched.compute "first"(%x) : (!t) -> !t
  commsched.barrier on @h
  $run(%w2 = %y, @g)
  %free2 = commsched.compute "second"(%y) : (!t) -> !t
  return
}

// CHECK-LABEL: func.func @collectives_in_a_region(
// RAISE-NEXT: // order: %x wait scf.if { %y inner wait } %y free wait{{$}}
// SINK-NEXT: // order: free %x wait scf.if { inner %y wait } %y wait{{$}}
func.func @collectives_in_a_region(%x: !t, %y: !t, %c: i1) {
  %free = commsched.compute "free"(%x) : (!t) -> !t
  $run(%w = %x, @g)
  scf.if %c {
    %inner = commsched.compute "inner"(%y) : (!t) -> !t
    $run(%w1 = %y, @h)
  }
  $run(%w2 = %y, @h)
  return
}

// The same for a loop, and deeper inside.
// CHECK-LABEL: func.func @collectives_deep_in_a_loop(
// RAISE-NEXT: // order: %x wait scf.for { scf.if { %it inner wait scf.yield } else { scf.yield } scf.yield } %y free wait{{$}}
func.func @collectives_deep_in_a_loop(%x: !t, %y: !t, %c: i1, %n: index) -> !t {
  %free = commsched.compute "free"(%x) : (!t) -> !t
  $run(%w = %x, @g)
  %r = scf.for %i = %n to %n step %n iter_args(%it = %y) -> !t {
    %s = scf.if %c -> !t {
      %inner = commsched.compute "inner"(%y) : (!t) -> !t
      $run(%w1 = %it, @h)
      scf.yield %w1 : !t
    } else {
      scf.yield %it : !t
    }
    scf.yield %s : !t
  }
  $run(%w2 = %y, @h)
  return %r : !t
}

// A region that only computes is computation: the start rises above it.
// CHECK-LABEL: func.func @region_that_only_computes(
// RAISE-NEXT: // order: %x scf.if { t scf.yield } else { scf.yield } wait{{$}}
func.func @region_that_only_computes(%x: !t, %c: i1) -> !t {
  %s = scf.if %c -> !t {
    %t = commsched.compute "t"(%x) : (!t) -> !t
    scf.yield %t : !t
  } else {
    scf.yield %x : !t
  }
  $run(%w = %x, @g)
  return %s : !t
}

// Collectives of one group keep their order; of several groups they need not:
// the start on @g waits for what its operand waits for, that on @h does not.
// CHECK-LABEL: func.func @order_on_each_group(
// SINK-NEXT: // order: %x %y@h wait %w %y@g wait wait wait{{$}}
func.func @order_on_each_group(%x: !t, %y: !t) {
  $run(%w = %x, @g)
  %f1 = commsched.all_reduce %w on @g reduction(sum) {commsched.name = "%w"} : !t -> !future
  %f2 = commsched.all_reduce %y on @h reduction(sum) {commsched.name = "%y@h"} : !t -> !future
  %f3 = commsched.all_reduce %y on @g reduction(sum) {commsched.name = "%y@g"} : !t -> !future
  %w1 = commsched.wait %f1 : !future
  %w2 = commsched.wait %f2 : !future
  %w3 = commsched.wait %f3 : !future
  return
}

// The same with commsched.order: the start on @h stays behind that on @g.
// CHECK-LABEL: func.func @order_across_groups(
// SINK-NEXT: // order: %x wait %w %y wait wait{{$}}
func.func @order_across_groups(%x: !t, %y: !t) {
  $run(%w = %x, @g)
  %f1 = commsched.all_reduce %w on @g reduction(sum) {commsched.name = "%w", commsched.order = 0 : i64}
      : !t -> !future
  %f2 = commsched.all_reduce %y on @h reduction(sum) {commsched.name = "%y", commsched.order = 5 : i64}
      : !t -> !future
  %w1 = commsched.wait %f1 : !future
  %w2 = commsched.wait %f2 : !future
  return
}
