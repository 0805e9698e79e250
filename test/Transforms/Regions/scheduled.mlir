// What calls say of functions lets later passes schedule around them.
// RUN: commsched-opt %s --commsched-compile-regions | FileCheck %s --check-prefixes=CHECK,OUTLINED
// RUN: commsched-opt %s \
// RUN:   --pass-pipeline='builtin.module(commsched-compile-regions,func.func(commsched-sink-waits))' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SUNK
// RUN: %prints commsched-opt %s --commsched-compile-regions \
// RUN:   --commsched-report='format=json output=-' -o /dev/null \
// RUN:   '"function":"step","num_ops":5,{{.*}}"compute_time_ns":1070,'

// The pins of the members add up, as each runs after the other: 30 + 40. Without pins there is none.

// CHECK-LABEL: func.func @step
// OUTLINED-NEXT: commsched.all_reduce
// OUTLINED-NEXT: commsched.wait
// OUTLINED-NEXT: %[[Y:.*]] = call @__marked_region_0(%{{.*}}) {commsched.pure, commsched.runtime_ns = 70 : i64}
// OUTLINED-NEXT: call @__marked_region_1(%[[Y]]) {commsched.pure} :
// SUNK-NEXT: commsched.all_reduce
// SUNK-NEXT: call @__marked_region_0
// SUNK-NEXT: call @__marked_region_1
// SUNK-NEXT: commsched.wait
// CHECK-NEXT: arith.addf

commsched.group @dp size(4)
func.func @step(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %f = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.runtime_ns = 100 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %0 = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %1 = math.exp %y {commsched.compile_with = {pipeline = "cse", region = "a"}, commsched.runtime_ns = 30 : i64} : tensor<4xf32>
  %2 = math.sin %1 {commsched.compile_with = {pipeline = "cse", region = "a"}, commsched.runtime_ns = 40 : i64} : tensor<4xf32>
  // Of two times 16 bytes, and a launch: 1000 ns.
  %3 = math.cos %2 {commsched.compile_with = {pipeline = "cse", region = "b"}} : tensor<4xf32>
  %4 = arith.addf %0, %3 {commsched.runtime_ns = 0 : i64} : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// No call is pure whose function draws random numbers, writes memory, returns
// what it takes, or one value twice.

// CHECK-LABEL: func.func @effects
// CHECK: call @__marked_region_2({{.*}}) :
// CHECK: call @__marked_region_3({{.*}}) :
// CHECK: call @__marked_region_4({{.*}}) :
// CHECK: call @__marked_region_5({{.*}}) :
func.func @effects(%x: tensor<4xf32>, %y: tensor<4xf32>, %m: memref<f32>, %v: f32)
    -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = commsched.compute "aten.rand_like"(%x) {random, commsched.compile_with = {pipeline = "cse", region = "random"}}
      : (tensor<4xf32>) -> tensor<4xf32>
  memref.store %v, %m[] {commsched.compile_with = {pipeline = "cse", region = "memory"}} : memref<f32>
  %zero = arith.constant dense<0> : tensor<4xi32>
  %n = arith.fptosi %x : tensor<4xf32> to tensor<4xi32>
  %1 = arith.addi %n, %zero {commsched.compile_with = {pipeline = "canonicalize", region = "same"}} : tensor<4xi32>
  %2 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "twice"}} : tensor<4xf32>
  %3 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "twice"}} : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
}
