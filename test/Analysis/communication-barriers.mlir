// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-raise-comms \
// RUN:   | FileCheck %s --check-prefixes=CHECK,RAISE
// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-sink-waits \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SINK

// Nothing that communicates crosses an operation whose communication nothing
// describes, an operation that holds collectives in a region, or a blocking
// collective. What only computes does, as "free" shows.

commsched.group @g size(4)
commsched.group @h size(2)
func.func private @unknown()

// CHECK-LABEL: func.func @unregistered_operation(
// RAISE-NEXT: commsched.all_reduce %arg0
// RAISE-NEXT: commsched.wait
// RAISE-NEXT: "foreign.op"()
// RAISE-NEXT: commsched.all_reduce %arg1
// RAISE-NEXT: compute "free"
// RAISE-NEXT: commsched.wait
// SINK-NEXT: compute "free"
// SINK-NEXT: commsched.all_reduce %arg0
// SINK-NEXT: commsched.wait
// SINK-NEXT: "foreign.op"()
func.func @unregistered_operation(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  "foreign.op"() : () -> ()
  %f2 = commsched.all_reduce %y on @h reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  return
}

// CHECK-LABEL: func.func @call(
// RAISE-NEXT: commsched.all_reduce %arg0
// RAISE-NEXT: commsched.wait
// RAISE-NEXT: call @unknown
// RAISE-NEXT: commsched.all_reduce %arg1
// RAISE-NEXT: compute "free"
// RAISE-NEXT: commsched.wait
func.func @call(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  func.call @unknown() : () -> ()
  %f2 = commsched.all_reduce %y on @h reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  return
}

// The barrier is of another group, and still a start does not rise above it nor
// a wait sink below it; the computation behind it does come ahead of the wait.
// CHECK-LABEL: func.func @blocking_collective(
// SINK-NEXT: commsched.all_reduce %arg0
// SINK-NEXT: compute "first"
// SINK-NEXT: compute "second"
// SINK-NEXT: commsched.wait
// SINK-NEXT: commsched.barrier on @h
// SINK-NEXT: commsched.all_reduce %arg1
// SINK-NEXT: commsched.wait
// RAISE-NEXT: commsched.all_reduce %arg0
// RAISE-NEXT: commsched.wait
// RAISE-NEXT: commsched.barrier on @h
// RAISE-NEXT: commsched.all_reduce %arg1
// RAISE-NEXT: compute "first"
// RAISE-NEXT: commsched.wait
// RAISE-NEXT: compute "second"
func.func @blocking_collective(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %free = commsched.compute "first"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  commsched.barrier on @h
  %f2 = commsched.all_reduce %y on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  %free2 = commsched.compute "second"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @collectives_in_a_region(
// RAISE-NEXT: commsched.all_reduce %arg0
// RAISE-NEXT: commsched.wait
// RAISE-NEXT: scf.if
// RAISE-NEXT: commsched.all_reduce
// RAISE-NEXT: compute "inner"
// RAISE-NEXT: commsched.wait
// RAISE-NEXT: }
// RAISE-NEXT: commsched.all_reduce %arg1
// RAISE-NEXT: compute "free"
// RAISE-NEXT: commsched.wait
// SINK-NEXT: compute "free"
// SINK-NEXT: commsched.all_reduce %arg0
// SINK-NEXT: commsched.wait
// SINK-NEXT: scf.if
// SINK-NEXT: compute "inner"
// SINK-NEXT: commsched.all_reduce
// SINK-NEXT: commsched.wait
// SINK-NEXT: }
func.func @collectives_in_a_region(%x: tensor<4xf32>, %y: tensor<4xf32>,
                                   %c: i1) {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  scf.if %c {
    %inner = commsched.compute "inner"(%y) : (tensor<4xf32>) -> tensor<4xf32>
    %f1 = commsched.all_reduce %y on @h reduction(sum)
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %w1 = commsched.wait %f1 : !commsched.future<tensor<4xf32>>
  }
  %f2 = commsched.all_reduce %y on @h reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  return
}

// The same for a loop, and deeper inside.
// CHECK-LABEL: func.func @collectives_deep_in_a_loop(
// RAISE-NEXT: commsched.all_reduce %arg0
// RAISE-NEXT: commsched.wait
// RAISE-NEXT: scf.for
// RAISE: commsched.all_reduce
// RAISE-NEXT: compute "inner"
// RAISE: scf.yield
// RAISE: commsched.all_reduce %arg1
// RAISE-NEXT: compute "free"
func.func @collectives_deep_in_a_loop(%x: tensor<4xf32>, %y: tensor<4xf32>,
                                      %c: i1, %n: index) -> tensor<4xf32> {
  %free = commsched.compute "free"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %r = scf.for %i = %n to %n step %n iter_args(%it = %y) -> tensor<4xf32> {
    %s = scf.if %c -> tensor<4xf32> {
      %inner = commsched.compute "inner"(%y) : (tensor<4xf32>) -> tensor<4xf32>
      %f1 = commsched.all_reduce %it on @h reduction(sum)
          : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
      %w1 = commsched.wait %f1 : !commsched.future<tensor<4xf32>>
      scf.yield %w1 : tensor<4xf32>
    } else {
      scf.yield %it : tensor<4xf32>
    }
    scf.yield %s : tensor<4xf32>
  }
  %f2 = commsched.all_reduce %y on @h reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  return %r : tensor<4xf32>
}

// A region that only computes is computation: the start rises above it.
// CHECK-LABEL: func.func @region_that_only_computes(
// RAISE-NEXT: commsched.all_reduce %arg0
// RAISE-NEXT: scf.if
func.func @region_that_only_computes(%x: tensor<4xf32>, %c: i1)
    -> tensor<4xf32> {
  %s = scf.if %c -> tensor<4xf32> {
    %t = commsched.compute "t"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %s : tensor<4xf32>
}

// Collectives of one group keep their order; of several groups they need not:
// the start on @g waits for what its operand waits for, that on @h does not.
// CHECK-LABEL: func.func @order_on_each_group(
// SINK-NEXT: commsched.all_reduce %arg0 on @g
// SINK-NEXT: commsched.all_reduce %arg1 on @h
// SINK-NEXT: commsched.wait
// SINK-NEXT: commsched.all_reduce %{{.*}} on @g
// SINK-NEXT: commsched.all_reduce %arg1 on @g
// SINK-NEXT: commsched.wait
// SINK-NEXT: commsched.wait
// SINK-NEXT: commsched.wait
func.func @order_on_each_group(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %f1 = commsched.all_reduce %w on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %f2 = commsched.all_reduce %y on @h reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %f3 = commsched.all_reduce %y on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<4xf32>>
  return
}

// The same with commsched.order: the start on @h stays behind that on @g.
// CHECK-LABEL: func.func @order_across_groups(
// SINK-NEXT: commsched.all_reduce %arg0 on @g
// SINK-NEXT: commsched.wait
// SINK-NEXT: commsched.all_reduce %{{.*}} on @g
// SINK-NEXT: commsched.all_reduce %arg1 on @h
// SINK-NEXT: commsched.wait
// SINK-NEXT: commsched.wait
func.func @order_across_groups(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %f1 = commsched.all_reduce %w on @g reduction(sum)
      {commsched.order = 0 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %f2 = commsched.all_reduce %y on @h reduction(sum)
      {commsched.order = 5 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  return
}
