// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-assume-fusion -o %t.mlir
// RUN: grep "fused" %t.mlir | not grep -vE "commsched.fused(| = [0-9] : i64), (commsched.pure, )?commsched.runtime_ns = 0 : i64, test.fused\1}"
// RUN: FileCheck %s < %t.mlir
// RUN: grep test.ns %t.mlir | not grep -vE "runtime_ns = ([0-9]+) : i64.* test.ns = \1 : i64"
// RUN: commsched-opt %t.mlir --commsched-report=format=json -o /dev/null --allow-unregistered-dialect | FileCheck %s --check-prefix=REPORT
// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-set-costs="target=b200 assume-fusion" -o %t.b200.mlir
// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-report=output=%t.txt --commsched-set-costs="target=b200 assume-fusion" | diff - %t.b200.mlir

// Operations are marked as fused with operand `test.fused`, or with all that use them, or
// priced at `test.ns`, not for the target of a report before. Only what is not fused takes
// storage: the product and the result, 4 MiB each, beside the two arguments. A kernel reads
// what the chain before it reads.

// REPORT: "function":"chain"{{.*}}"peak_memory_bytes":16777216
// CHECK-LABEL: @chain
// CHECK: stablehlo.multiply{{.*}}commsched.runtime_ns = [[#]] : i64
func.func @chain(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "stablehlo.add"(%0, %b) {test.fused = 0} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = "stablehlo.exponential"(%1) {test.fused = 0} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %3 = "stablehlo.multiply"(%2, %1) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %3 : tensor<1024x1024xf32>
}

// What a matrix product, a collective or a return reads is stored.

func.func @stored(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = "stablehlo.negate"(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "stablehlo.dot_general"(%0, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "stablehlo.abs"(%b) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "stablehlo.sine"(%2) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// A pure call of a pointwise function is fused, a pinned operation is not.

func.func @calls(%p: tensor<64xi1>, %a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = call @where(%p, %a) {commsched.pure, test.fused = 1} : (tensor<64xi1>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "stablehlo.negate"(%0) {commsched.runtime_ns = 7 : i64, test.ns = 7} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = "stablehlo.abs"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
func.func private @where(%p: tensor<64xi1>, %a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<64xf32>}> : () -> tensor<64xf32>
  %1 = "stablehlo.select"(%p, %a, %0) : (tensor<64xi1>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// A call of what only computes takes what its callee takes. Another counts as that does.

func.func @outer(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = call @inner(%a) {commsched.pure, test.ns = 300} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @inner(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = call @innermost(%a) {commsched.pure, test.ns = 200} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "stablehlo.custom_call"(%0) <{call_target_name = "a"}> {commsched.runtime_ns = 100 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
func.func private @innermost(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "b"}> {commsched.runtime_ns = 200 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Of what a bucket's copy may compute, no launch is in the bound for all ways of merging.

// CHECK-LABEL: func.func @reducing
// CHECK: call @reduced(%{{.*}}) : (tensor<64xf32>)
// REPORT: "function":"reducing",{{.*}}"step_time_ns":1120,"compute_time_ns":1020,"comm_time_ns":100,"exposed_comm_ns":100,{{.*}}"merging_lower_bound_ns":{{[0-9][0-9]}},
commsched.group @dp size(4)
func.func @reducing(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = call @reduced(%a) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @reduced(%a: tensor<64xf32>) -> tensor<64xf32> {
  %f = commsched.all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 50 : i64} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %0 = commsched.wait %f : !commsched.future<tensor<64xf32>>
  %n = "stablehlo.negate"(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %g = commsched.all_reduce %n on @dp reduction(sum) {commsched.runtime_ns = 50 : i64} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %w = commsched.wait %g : !commsched.future<tensor<64xf32>>
  %1 = call @timed(%0) {commsched.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
func.func private @timed(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "stablehlo.custom_call"(%a) <{call_target_name = "c"}> {commsched.runtime_ns = 20 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// CHECK-LABEL: func.func @recursive
// CHECK-NOT: commsched.runtime_ns
// CHECK: return
func.func @recursive(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = call @recursive(%a) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// An iota that is computed on the way takes no storage: the argument and the result do.

// REPORT: "function":"iota"{{.*}}"peak_memory_bytes":5242880
func.func @iota(%a: tensor<1024x1024xi32>) -> tensor<1024x1024xi1> {
  %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> {test.fused} : () -> tensor<1024x1024xi32>
  %1 = "stablehlo.compare"(%a, %0) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1024x1024xi32>, tensor<1024x1024xi32>) -> tensor<1024x1024xi1>
  return %1 : tensor<1024x1024xi1>
}

// A product reads a transposed operand in any layout, which is stored as it was: two
// arguments, the sum and the product, 4 MiB each.

// REPORT: "function":"absorbed"{{.*}}"peak_memory_bytes":16777216
func.func @absorbed(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "stablehlo.transpose"(%0) <{permutation = array<i64: 1, 0>}> {test.fused = 0} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = "stablehlo.dot_general"(%1, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %2 : tensor<1024x1024xf32>
}

// A collective and the caller want a layout of their own.

func.func @not_absorbed(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %1 = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "stablehlo.dot_general"(%1, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// The body of a loop is fused as a function is; a loop reads a transposed value in any
// layout, also one that its body captures. What computes single elements is not touched.

// CHECK-LABEL: @loop
// CHECK: ^bb0(%[[L:.*]]: tensor<f32>, %[[R:.*]]: tensor<f32>):
// CHECK-NEXT: %[[N:.*]] = "stablehlo.negate"(%[[R]]) : (tensor<f32>)
func.func @loop(%a: tensor<64x64xf32>, %z: tensor<f32>) -> tensor<64x64xf32> {
  %t = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> {test.fused = 0} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %r:2 = "stablehlo.while"(%z, %t) ({
  ^bb0(%s: tensor<f32>, %p: tensor<64x64xf32>):
    %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%s: tensor<f32>, %p: tensor<64x64xf32>):
    %n = "stablehlo.negate"(%p) {test.fused = 0} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = "stablehlo.reduce"(%n, %s) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %m = "stablehlo.negate"(%y) : (tensor<f32>) -> tensor<f32>
      %q = "stablehlo.add"(%x, %m) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%q) : (tensor<f32>) -> ()
    }) : (tensor<64x64xf32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%e, %p) : (tensor<f32>, tensor<64x64xf32>) -> ()
  }) : (tensor<f32>, tensor<64x64xf32>) -> (tensor<f32>, tensor<64x64xf32>)
  return %r#1 : tensor<64x64xf32>
}

func.func @captured(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %o = tensor.empty() : tensor<64x64xf32>
  %t = linalg.transpose ins(%a : tensor<64x64xf32>) outs(%o : tensor<64x64xf32>) permutation = [1, 0] {test.fused = 0}
  %r = "stablehlo.while"(%b) ({
  ^bb0(%p: tensor<64x64xf32>):
    %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%p: tensor<64x64xf32>):
    %d = "stablehlo.dot_general"(%t, %p) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "stablehlo.return"(%d) : (tensor<64x64xf32>) -> ()
  }) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
