// RUN: commsched-test-opt %s > %t.parsed
// RUN: commsched-test-opt %s --test-sum-before-reduce-scatter \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 | FileCheck %s
// RUN: diff %t %t.parsed

// What is not summed up before it is reduced, and why. Nothing changes.

!part = tensor<2xf32>
!whole = tensor<4xf32>
!future = !commsched.future<!part>
commsched.group @dp size(2)
commsched.group @tp size(2)

// CHECK: [Missed] SummedAfterReduceScatter | Category:commsched | Function=groups
// CHECK-SAME: commsched.reduce_scatter 'ra' and commsched.reduce_scatter 'rb' are summed up afterwards: the first is on @dp, the second on @tp
func.func @groups(%a: !whole, %b: !whole) -> !part {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      {commsched.name = "ra"} : !whole -> !future
  %rb = commsched.reduce_scatter %b on @tp reduction(sum) dim(0)
      {commsched.name = "rb"} : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  %sum = arith.addf %wa, %wb : !part
  return %sum : !part
}

// CHECK: Function=reductions
// CHECK-SAME: commsched.reduce_scatter 'ra' and commsched.reduce_scatter 'rb' are summed up afterwards: the first reduces by sum, the second reduces by avg
func.func @reductions(%a: !whole, %b: !whole) -> !part {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      {commsched.name = "ra"} : !whole -> !future
  %rb = commsched.reduce_scatter %b on @dp reduction(avg) dim(0)
      {commsched.name = "rb"} : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  %sum = arith.addf %wa, %wb : !part
  return %sum : !part
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
func.func @maxima(%a: !whole, %b: !whole) -> !part {
  %ra = commsched.reduce_scatter %a on @dp reduction(max) dim(0)
      {commsched.name = "ra"} : !whole -> !future
  %rb = commsched.reduce_scatter %b on @dp reduction(max) dim(0)
      : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  %sum = arith.addf %wa, %wb : !part
  return %sum : !part
}

// CHECK: Function=other_user
// CHECK-SAME: what commsched.reduce_scatter 'rb' delivers has another user
// CHECK: Function=in_place
// CHECK-SAME: commsched.reduce_scatter 'rb' is written in place
// CHECK: Function=coalesced
// CHECK-SAME: commsched.reduce_scatter 'ra' reduces several tensors
func.func @other_user(%a: !whole, %b: !whole) -> (!part, !part) {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : !whole -> !future
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      {commsched.name = "rb"} : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  %sum = arith.addf %wa, %wb : !part
  return %sum, %wb : !part, !part
}
func.func @in_place(%a: !whole, %b: !whole, %buffer: !part) -> !part {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : !whole -> !future
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) into %buffer
      {commsched.name = "rb"} : !whole into !part -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  %sum = arith.addf %wa, %wb : !part
  return %sum : !part
}
func.func @coalesced(%a: !whole, %b: !whole) -> (!part, !part) {
  %ra = commsched.reduce_scatter %a, %b on @dp reduction(sum) dim(0)
      {commsched.name = "ra"} : !whole, !whole
      -> !commsched.future<!part, !part>
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      : !whole -> !future
  %wa:2 = commsched.wait %ra : !commsched.future<!part, !part>
  %wb = commsched.wait %rb : !future
  %sum = arith.addf %wa#0, %wb : !part
  return %sum, %wa#1 : !part, !part
}

// CHECK: Function=barrier
// CHECK-SAME: no collective may cross what stands between them
// CHECK: Function=written
// CHECK-SAME: commsched.reduce_scatter 'rb' and commsched.reduce_scatter 'ra' are summed up afterwards: what commsched.reduce_scatter 'ra' sends may be written before commsched.reduce_scatter 'rb' starts
func.func @barrier(%a: !whole, %b: !whole) -> !part {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : !whole -> !future
  commsched.barrier on @tp
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  %sum = arith.addf %wa, %wb : !part
  return %sum : !part
}
func.func @written(%a: !whole, %b: !whole) -> !part {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      {commsched.name = "ra"} : !whole -> !future
  %wa = commsched.wait %ra : !future
  commsched.compute "zero"(%a) {mutates = array<i64: 0>} : (!whole) -> ()
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      {commsched.name = "rb"} : !whole -> !future
  %wb = commsched.wait %rb : !future
  %sum = arith.addf %wb, %wa : !part
  return %sum : !part
}

// Not the addition of two tensors, or not of reduce-scatters: no remark. An
// addition without users stays as well.
// CHECK-NOT: remark
func.func @others(%a: !whole, %b: !whole, %c: !part, %old: !part)
    -> (!part, !part, !part, !part, !part, !part, !part) {
  %r0 = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : !whole -> !future
  %r1 = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      : !whole -> !future
  %w0 = commsched.wait %r0 : !future
  %w1 = commsched.wait %r1 : !future
  %r2 = commsched.reduce_scatter %c on @dp reduction(sum) dim(0)
      : !part -> !commsched.future<tensor<1xf32>>
  %w2 = commsched.wait %r2 : !commsched.future<tensor<1xf32>>
  %difference = arith.subf %w0, %w1 : !part
  %accumulated = arith.addf %w0, %old : !part
  %doubled = arith.addf %w0, %w0 : !part
  %in_place = commsched.compute "aten.add_.Tensor"(%w0, %w1)
      {alias = 0 : i64, mutates = array<i64: 0>} : (!part, !part) -> !part
  %three = commsched.compute "aten.addcmul"(%w0, %w1) : (!part, !part) -> !part
  %out = commsched.compute "aten.add.out"(%w0, %w1)
      {alias = 0 : i64, mutates = array<i64: 0>} : (!part, !part) -> !part
  %broadcast = commsched.compute "aten.add.Tensor"(%w2, %w1)
      : (tensor<1xf32>, !part) -> !part
  %unused = arith.addf %w0, %w1 : !part
  return %difference, %accumulated, %doubled, %in_place, %three, %out, %broadcast
      : !part, !part, !part, !part, !part, !part, !part
}

func.func @in_a_region(%a: !whole, %b: !whole,
                       %old: !part, %condition: i1) -> !part {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0)
      : !whole -> !future
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0)
      : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  %result = scf.if %condition -> !part {
    %sum = arith.addf %wa, %wb : !part
    scf.yield %sum : !part
  } else {
    scf.yield %old : !part
  }
  return %result : !part
}

func.func @all_reduces(%a: !whole, %b: !whole) -> !whole {
  %ra = commsched.all_reduce %a on @dp reduction(sum)
      : !whole -> !commsched.future<!whole>
  %rb = commsched.all_reduce %b on @dp reduction(sum)
      : !whole -> !commsched.future<!whole>
  %wa = commsched.wait %ra : !commsched.future<!whole>
  %wb = commsched.wait %rb : !commsched.future<!whole>
  %sum = arith.addf %wa, %wb : !whole
  return %sum : !whole
}
