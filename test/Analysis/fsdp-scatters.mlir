// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-annotate-fsdp \
// RUN:   --allow-unregistered-dialect %remarks 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

LET $scatter(F, NAME) F = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
  {commsched.name = NAME} : !gradient -> !future

// A scatter of gradients is one whose result goes into the function's results
// and nowhere else, through operations of one operand.

!t = tensor<4xf32>
!gradient = tensor<16xf32>
!future = !commsched.future<!t>
commsched.group @g size(4)
commsched.group @h size(2)

// CHECK-LABEL: func.func @scattered(
// CHECK-SAME: %[[A:.*]]: tensor<16xf32>
func.func @scattered(%a: !gradient) -> (!t, !t, !t, tensor<2x2xbf16>,
        tensor<1xf32>, tensor<3xf32>, !t, !t, !t) {
  // CHECK-COUNT-8: commsched.reduce_scatter {{.*}}fsdp = "gradient_scatter"
  $scatter(%f0, "direct")
  $scatter(%f1, "twice")
  $scatter(%f2, "two_steps")
  $scatter(%f3, "parts")
  $scatter(%f4, "scaled")
  $scatter(%f5, "in_place")
  $scatter(%f6, "squared")
  $scatter(%f7, "dead_end")

  %w0 = commsched.wait %f0 : !future
  %w1 = commsched.wait %f1 : !future
  %w2 = commsched.wait %f2 : !future
  %cast = arith.truncf %w2 : !t to tensor<4xbf16>
  %shape = tensor.expand_shape %cast [[0, 1]] output_shape [2, 2]
      : tensor<4xbf16> into tensor<2x2xbf16>
  %w3 = commsched.wait %f3 : !future
  %parts:3 = commsched.compute "aten.split_with_sizes"(%w3) {alias = 0 : i64}
      : (!t) -> (tensor<1xf32>, tensor<3xf32>, tensor<0xf32>)
  %w4 = commsched.wait %f4 : !future
  %eighth = arith.constant dense<0.125> : !t
  %scaled = arith.mulf %w4, %eighth : !t
  %w5 = commsched.wait %f5 : !future
  %divided = commsched.compute "aten.div_"(%w5)
      {alias = 0 : i64, mutates = array<i64: 0>} : (!t) -> !t
  %w6 = commsched.wait %f6 : !future
  %squared = arith.mulf %w6, %w6 : !t
  %w7 = commsched.wait %f7 : !future
  %dead = commsched.compute "aten.neg"(%w7) : (!t) -> !t
  return %w0, %w1, %w1, %shape, %parts#0, %parts#1, %scaled, %divided, %squared
      : !t, !t, !t, tensor<2x2xbf16>, tensor<1xf32>, tensor<3xf32>, !t, !t, !t
}

// Every other use makes it something else. The gather of a parameter makes the
// group one of FSDP.
// CHECK-LABEL: func.func @others(
// REMARK-LABEL: Function=others
// REMARK-SAME: GradientScatters=0, ParameterGathers=1
func.func @others(%p: !t, %a: !gradient, %old: !t, %memory: memref<4xf32>)
    -> (!t, !t, !t, !t, !t, !t) {
  $run(%w = all_gather %p on @g dim(0) {commsched.name = "fsdp"} : !t -> !gradient)
  // CHECK-NOT: gradient_scatter

  $run(%w0 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "accumulated"} : !gradient -> !t)
  %sum = commsched.compute "aten.add"(%old, %w0) : (!t, !t) -> !t
  // REMARK: Missed] NotFsdp | Category:commsched | Function=others
  // REMARK-SAME: commsched.reduce_scatter 'accumulated': what it scatters goes to aten.add

  // The first of two other users is named, though the list of uses is the
  // other way round.
  $run(%w1 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "also_used"} : !gradient -> !t)
  %view = commsched.compute "aten.view"(%w1) {alias = 0 : i64} : (!t) -> !t
  %norm = commsched.compute "aten.dot"(%view, %old) : (!t, !t) -> tensor<f32>
  %late = commsched.compute "aten.add"(%w1, %old) : (!t, !t) -> !t
  // REMARK: 'also_used': what it scatters goes to aten.dot

  $run(%w2 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "unused"} : !gradient -> !t)
  // REMARK: 'unused': nobody uses what it scatters

  $run(%w4 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "expensive"} : !gradient -> !t)
  %long = commsched.compute "long"(%w4) {flops = 1.0e9} : (!t) -> !t
  // REMARK: 'expensive': what it scatters goes to long

  $run(%w5 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "stored"} : !gradient -> !t)
  bufferization.materialize_in_destination %w5 in writable %memory : (!t, memref<4xf32>) -> ()
  // REMARK: 'stored': what it scatters goes to bufferization.materialize_in_destination

  $run(%w6 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "unknown"} : !gradient -> !t)
  %foreign = "foreign.cast"(%w6) : (!t) -> !t
  // REMARK: 'unknown': what it scatters goes to foreign.cast

  $run(%w7 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "random"} : !gradient -> !t)
  %rounded = commsched.compute "stochastic_rounding"(%w7) {random} : (!t) -> !t
  // REMARK: 'random': what it scatters goes to stochastic_rounding

  $run(%w8 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "parts"} : !gradient -> !t)
  %parts:2 = commsched.compute "aten.split"(%w8) {alias = 0 : i64}
      : (!t) -> (tensor<2xf32>, tensor<2xf32>)
  %first = commsched.compute "first"(%parts#0, %old) : (tensor<2xf32>, !t) -> tensor<2xf32>
  %second = commsched.compute "second"(%parts#1, %old) : (tensor<2xf32>, !t) -> tensor<2xf32>
  // REMARK: 'parts': what it scatters goes to first

  // REMARK-NOT: NotFsdp
  return %sum, %w1, %old, %long, %foreign, %rounded : !t, !t, !t, !t, !t, !t
}

// Which role a scatter has does not depend on the group, nor on whether there
// is a gather, as there need be none in a backward function.
// CHECK-LABEL: func.func @another_group(
// CHECK: fsdp = "gradient_scatter"
func.func @another_group(%a: tensor<8xf32> {commsched.role = "tangent"}) -> !t {
  $run(%w = reduce_scatter %a on @h reduction(sum) dim(0) : tensor<8xf32> -> !t)
  return %w : !t
}
