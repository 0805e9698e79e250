// RUN: commsched-opt %s --test-commsched-annotate-fsdp --allow-unregistered-dialect \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A scatter of gradients is one whose result goes into the function's results
// and nowhere else, through operations of one operand.

commsched.group @g size(4)
commsched.group @h size(2)

// CHECK-LABEL: func.func @scattered(
// CHECK-SAME: %[[A:.*]]: tensor<16xf32>
func.func @scattered(%a: tensor<16xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xbf16>,
        tensor<1xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>,
        tensor<4xf32>) {
  // CHECK-COUNT-8: commsched.reduce_scatter {{.*}}fsdp = "gradient_scatter"
  %f0 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "direct"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %f1 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "twice"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %f2 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "two_steps"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %f3 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "parts"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %f4 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "scaled"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %f5 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "in_place"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %f6 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "squared"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %f7 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "dead_end"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>

  %w0 = commsched.wait %f0 : !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  %cast = arith.truncf %w2 : tensor<4xf32> to tensor<4xbf16>
  %shape = tensor.expand_shape %cast [[0, 1]] output_shape [2, 2]
      : tensor<4xbf16> into tensor<2x2xbf16>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<4xf32>>
  %parts:3 = commsched.compute "aten.split_with_sizes"(%w3) {alias = 0 : i64}
      : (tensor<4xf32>) -> (tensor<1xf32>, tensor<3xf32>, tensor<0xf32>)
  %w4 = commsched.wait %f4 : !commsched.future<tensor<4xf32>>
  %eighth = arith.constant dense<0.125> : tensor<4xf32>
  %scaled = arith.mulf %w4, %eighth : tensor<4xf32>
  %w5 = commsched.wait %f5 : !commsched.future<tensor<4xf32>>
  %divided = commsched.compute "aten.div_"(%w5)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %w6 = commsched.wait %f6 : !commsched.future<tensor<4xf32>>
  %squared = arith.mulf %w6, %w6 : tensor<4xf32>
  %w7 = commsched.wait %f7 : !commsched.future<tensor<4xf32>>
  %dead = commsched.compute "aten.neg"(%w7) : (tensor<4xf32>) -> tensor<4xf32>
  return %w0, %w1, %w1, %shape, %parts#0, %parts#1, %scaled, %divided, %squared
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xbf16>,
        tensor<1xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>,
        tensor<4xf32>
}

// Every other use makes it something else. The gather of a parameter makes the
// group one of FSDP.
// CHECK-LABEL: func.func @others(
// REMARK-LABEL: Function=others
// REMARK-SAME: GradientScatters=0, ParameterGathers=1
func.func @others(%p: tensor<4xf32>, %a: tensor<16xf32>, %old: tensor<4xf32>,
                  %memory: memref<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
        tensor<4xf32>, tensor<4xf32>) {
  %f = commsched.all_gather %p on @g dim(0) {commsched.name = "fsdp"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<16xf32>>
  // CHECK-NOT: gradient_scatter

  %f0 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "accumulated"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w0 = commsched.wait %f0 : !commsched.future<tensor<4xf32>>
  %sum = commsched.compute "aten.add"(%old, %w0)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // REMARK: Missed] NotFsdp | Category:commsched | Function=others
  // REMARK-SAME: commsched.reduce_scatter 'accumulated': what it scatters goes to aten.add

  // The first of two other users is named, though the list of uses is the
  // other way round.
  %f1 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "also_used"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xf32>>
  %view = commsched.compute "aten.view"(%w1) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  %norm = commsched.compute "aten.dot"(%view, %old)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %late = commsched.compute "aten.add"(%w1, %old)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // REMARK: 'also_used': what it scatters goes to aten.dot

  %f2 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "unused"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  // REMARK: 'unused': nobody uses what it scatters

  %f4 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "expensive"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w4 = commsched.wait %f4 : !commsched.future<tensor<4xf32>>
  %long = commsched.compute "long"(%w4) {flops = 1.0e9}
      : (tensor<4xf32>) -> tensor<4xf32>
  // REMARK: 'expensive': what it scatters goes to long

  %f5 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "stored"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w5 = commsched.wait %f5 : !commsched.future<tensor<4xf32>>
  bufferization.materialize_in_destination %w5 in writable %memory
      : (tensor<4xf32>, memref<4xf32>) -> ()
  // REMARK: 'stored': what it scatters goes to bufferization.materialize_in_destination

  %f6 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "unknown"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w6 = commsched.wait %f6 : !commsched.future<tensor<4xf32>>
  %foreign = "foreign.cast"(%w6) : (tensor<4xf32>) -> tensor<4xf32>
  // REMARK: 'unknown': what it scatters goes to foreign.cast

  %f7 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "random"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w7 = commsched.wait %f7 : !commsched.future<tensor<4xf32>>
  %rounded = commsched.compute "stochastic_rounding"(%w7) {random}
      : (tensor<4xf32>) -> tensor<4xf32>
  // REMARK: 'random': what it scatters goes to stochastic_rounding

  %f8 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "parts"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w8 = commsched.wait %f8 : !commsched.future<tensor<4xf32>>
  %parts:2 = commsched.compute "aten.split"(%w8) {alias = 0 : i64}
      : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %first = commsched.compute "first"(%parts#0, %old)
      : (tensor<2xf32>, tensor<4xf32>) -> tensor<2xf32>
  %second = commsched.compute "second"(%parts#1, %old)
      : (tensor<2xf32>, tensor<4xf32>) -> tensor<2xf32>
  // REMARK: 'parts': what it scatters goes to first

  // REMARK-NOT: NotFsdp
  return %sum, %w1, %old, %long, %foreign, %rounded
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
        tensor<4xf32>, tensor<4xf32>
}

// Which role a scatter has does not depend on the group, nor on whether there
// is a gather, as there need be none in a backward function.
// CHECK-LABEL: func.func @another_group(
// CHECK: fsdp = "gradient_scatter"
func.func @another_group(%a: tensor<8xf32> {commsched.role = "tangent"})
    -> tensor<4xf32> {
  %f = commsched.reduce_scatter %a on @h reduction(sum) dim(0)
      : tensor<8xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %w : tensor<4xf32>
}
