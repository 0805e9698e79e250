// RUN: commsched-opt %s -split-input-file --commsched-compile-regions | %orders | FileCheck %s

// Marks in the body of an unmarked loop are sets of that block. What the body
// has from outside is an argument, but for constants.

// CHECK-LABEL: func.func @body
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[N:.*]]: index)
// CHECK-NEXT: // order: {{.*}}scf.for { func.call scf.yield }{{$}}
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-SAME: (%[[Y:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: // order: {{.*}}arith.addf arith.mulf{{$}}
func.func @body(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
    %1 = arith.addf %y, %x {commsched.compile_with = {pipeline = "canonicalize"}} : tensor<4xf32>
    %2 = arith.mulf %1, %half {commsched.compile_with = {pipeline = "canonicalize"}} : tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A marked loop is taken whole, with marks inside of it and what it captures.
// `canonicalize` then takes away a loop of one iteration.

// CHECK-LABEL: func.func @loop
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>)
// CHECK-NEXT: // order:{{.*}}
// CHECK-NEXT: %[[Y:.*]] = call @__marked_region_0(%[[X]], %[[W]])
// CHECK-NEXT: return %[[Y]]
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>)
// CHECK-NEXT: // order: arith.addf{{$}}
func.func @loop(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%y = %x) -> tensor<4xf32> {
    %1 = arith.addf %y, %w {commsched.compile_with = {pipeline = "cse", region = "inner"}} : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } {commsched.compile_with = {pipeline = "canonicalize"}}
  return %0 : tensor<4xf32>
}

// -----

// Outer and inner sets of one function, numbered as their calls stand, and
// several blocks.

// CHECK-LABEL: func.func @both
// CHECK-NEXT: // order: call scf.if { func.call scf.yield } else { func.call scf.yield } call cf.br ^bb1: call{{$}}
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-NEXT: // order: math.exp{{$}}
// CHECK-LABEL: func.func private @__marked_region_1
// CHECK-NEXT: // order: math.sin{{$}}
// CHECK-LABEL: func.func private @__marked_region_2
// CHECK-NEXT: // order: math.cos{{$}}
// CHECK-LABEL: func.func private @__marked_region_3
// CHECK-NEXT: // order: math.tanh{{$}}
// CHECK-LABEL: func.func private @__marked_region_4
// CHECK-NEXT: // order: arith.addf{{$}}
func.func @both(%x: tensor<4xf32>, %p: i1) -> tensor<4xf32> {
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
  %1 = scf.if %p -> tensor<4xf32> {
    %2 = math.sin %0 {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  } else {
    %2 = math.cos %0 {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  %3 = math.tanh %1 {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
  cf.br ^next(%3 : tensor<4xf32>)
^next(%4: tensor<4xf32>):
  %5 = arith.addf %4, %0 {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
  return %5 : tensor<4xf32>
}
