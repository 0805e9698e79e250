// RUN: commsched-test-opt %s > %t.parsed
// RUN: commsched-test-opt %s --test-sum-before-reduce-scatter \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 | FileCheck %s
// RUN: diff %t %t.parsed

// What is not summed up before it is reduced, and why. Nothing changes.

commsched.group @dp size(2)
commsched.group @tp size(2)

// CHECK: [Missed] SummedAfterReduceScatter | Category:commsched | Function=groups
// CHECK-SAME: commsched.reduce_scatter 'ra' and commsched.reduce_scatter 'rb' are summed up afterwards: the first is on @dp, the second on @tp
func.func @groups(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      {commsched.name = "ra"}
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %rb = commsched.reduce_scatter %b on @tp reduction(sum) dim(0)
      {commsched.name = "rb"}
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %sum = arith.addf %wa, %wb : tensor<2xf32>
  return %sum : tensor<2xf32>
}

// CHECK: Function=reductions
// CHECK-SAME: commsched.reduce_scatter 'ra' and commsched.reduce_scatter 'rb' are summed up afterwards: the first reduces by sum, the second reduces by avg
func.func @reductions(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      {commsched.name = "ra"}
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %rb = commsched.reduce_scatter %b on @dp reduction(avg) dim(0)
      {commsched.name = "rb"}
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %sum = arith.addf %wa, %wb : tensor<2xf32>
  return %sum : tensor<2xf32>
}

// CHECK: Function=types
// CHECK-SAME: the first sends a tensor<4x2xf32>, the second a tensor<2x4xf32>
// CHECK: Function=dimensions
// CHECK-SAME: they differ in more than what they send
// CHECK: Function=maxima
// CHECK-SAME: commsched.reduce_scatter 'ra' reduces by max
func.func @types(%a: tensor<4x2xf32>, %b: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : tensor<4x2xf32> -> !commsched.future<tensor<2x2xf32>>
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(1)
      : tensor<2x4xf32> -> !commsched.future<tensor<2x2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2x2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2x2xf32>>
  %sum = arith.addf %wa, %wb : tensor<2x2xf32>
  return %sum : tensor<2x2xf32>
}
func.func @dimensions(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>)
    -> tensor<?x?xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : tensor<?x?xf32> -> !commsched.future<tensor<?x?xf32>>
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(1)
      : tensor<?x?xf32> -> !commsched.future<tensor<?x?xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<?x?xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<?x?xf32>>
  %sum = arith.addf %wa, %wb : tensor<?x?xf32>
  return %sum : tensor<?x?xf32>
}
func.func @maxima(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(max) dim(0)
      {commsched.name = "ra"}
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %rb = commsched.reduce_scatter %b on @dp reduction(max) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %sum = arith.addf %wa, %wb : tensor<2xf32>
  return %sum : tensor<2xf32>
}

// CHECK: Function=other_user
// CHECK-SAME: what commsched.reduce_scatter 'rb' delivers has another user
// CHECK: Function=in_place
// CHECK-SAME: commsched.reduce_scatter 'rb' is written in place
// CHECK: Function=coalesced
// CHECK-SAME: commsched.reduce_scatter 'ra' reduces several tensors
func.func @other_user(%a: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<2xf32>, tensor<2xf32>) {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      {commsched.name = "rb"}
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %sum = arith.addf %wa, %wb : tensor<2xf32>
  return %sum, %wb : tensor<2xf32>, tensor<2xf32>
}
func.func @in_place(%a: tensor<4xf32>, %b: tensor<4xf32>,
                    %buffer: tensor<2xf32>) -> tensor<2xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) into %buffer
      {commsched.name = "rb"}
      : tensor<4xf32> into tensor<2xf32> -> !commsched.future<tensor<2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %sum = arith.addf %wa, %wb : tensor<2xf32>
  return %sum : tensor<2xf32>
}
func.func @coalesced(%a: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<2xf32>, tensor<2xf32>) {
  %ra = commsched.reduce_scatter %a, %b on @dp reduction(sum) dim(0)
      {commsched.name = "ra"} : tensor<4xf32>, tensor<4xf32>
      -> !commsched.future<tensor<2xf32>, tensor<2xf32>>
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wa:2 = commsched.wait %ra : !commsched.future<tensor<2xf32>, tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %sum = arith.addf %wa#0, %wb : tensor<2xf32>
  return %sum, %wa#1 : tensor<2xf32>, tensor<2xf32>
}

// CHECK: Function=barrier
// CHECK-SAME: no collective may cross what stands between them
// CHECK: Function=written
// CHECK-SAME: commsched.reduce_scatter 'rb' and commsched.reduce_scatter 'ra' are summed up afterwards: what commsched.reduce_scatter 'ra' sends may be written before commsched.reduce_scatter 'rb' starts
func.func @barrier(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  commsched.barrier on @tp
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %sum = arith.addf %wa, %wb : tensor<2xf32>
  return %sum : tensor<2xf32>
}
func.func @written(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      {commsched.name = "ra"}
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2xf32>>
  commsched.compute "zero"(%a) {mutates = array<i64: 0>} : (tensor<4xf32>) -> ()
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      {commsched.name = "rb"}
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %sum = arith.addf %wb, %wa : tensor<2xf32>
  return %sum : tensor<2xf32>
}

// Not the addition of two tensors, or not of reduce-scatters: no remark. An
// addition without users stays as well.
// CHECK-NOT: remark
func.func @others(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<2xf32>,
                  %old: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
        tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %r0 = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %r1 = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %w0 = commsched.wait %r0 : !commsched.future<tensor<2xf32>>
  %w1 = commsched.wait %r1 : !commsched.future<tensor<2xf32>>
  %r2 = commsched.reduce_scatter %c on @dp reduction(sum) dim(0)
      : tensor<2xf32> -> !commsched.future<tensor<1xf32>>
  %w2 = commsched.wait %r2 : !commsched.future<tensor<1xf32>>
  %difference = arith.subf %w0, %w1 : tensor<2xf32>
  %accumulated = arith.addf %w0, %old : tensor<2xf32>
  %doubled = arith.addf %w0, %w0 : tensor<2xf32>
  %in_place = commsched.compute "aten.add_.Tensor"(%w0, %w1)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %three = commsched.compute "aten.addcmul"(%w0, %w1)
      : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %out = commsched.compute "aten.add.out"(%w0, %w1)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %broadcast = commsched.compute "aten.add.Tensor"(%w2, %w1)
      : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
  %unused = arith.addf %w0, %w1 : tensor<2xf32>
  return %difference, %accumulated, %doubled, %in_place, %three, %out, %broadcast
      : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
        tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

func.func @in_a_region(%a: tensor<4xf32>, %b: tensor<4xf32>,
                       %old: tensor<2xf32>, %condition: i1) -> tensor<2xf32> {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<2xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<2xf32>>
  %result = scf.if %condition -> tensor<2xf32> {
    %sum = arith.addf %wa, %wb : tensor<2xf32>
    scf.yield %sum : tensor<2xf32>
  } else {
    scf.yield %old : tensor<2xf32>
  }
  return %result : tensor<2xf32>
}

func.func @all_reduces(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %ra = commsched.all_reduce %a on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %rb = commsched.all_reduce %b on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %wa = commsched.wait %ra : !commsched.future<tensor<4xf32>>
  %wb = commsched.wait %rb : !commsched.future<tensor<4xf32>>
  %sum = arith.addf %wa, %wb : tensor<4xf32>
  return %sum : tensor<4xf32>
}
