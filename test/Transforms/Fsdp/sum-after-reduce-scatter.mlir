// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -split-input-file -o %t.before
// RUN: commsched-opt %t.mlir -split-input-file -verify-diagnostics=only-expected \
// RUN:   --commsched-bucket-reduce-scatter="sum-first max-count=1" %remarks -o %t.after
// RUN: diff %t.before %t.after
// RUN: commsched-opt %t.mlir -split-input-file -o /dev/null %remarks 2>&1 \
// RUN:   --commsched-bucket-reduce-scatter="sum-first max-count=1" | grep 'remark: .Missed. SummedAfter' | count 10

// What is not summed up before it is reduced, and why. Nothing changes.

!part = tensor<2xf32>
!whole = tensor<4xf32>
!future = !commsched.future<!part>
commsched.group @dp size(2)
commsched.group @tp size(2)

func.func @row(%a: !whole, %b: !whole, %buffer: !part) -> !part {
  ROW
  %sum = arith.addf %wa, %wb : !part
  return %sum : !part
}

// -----

  $run(%wa = reduce_scatter %a on @dp reduction(sum) dim(0) {commsched.name = "ra"} : !whole -> !part)
  $run(%wb = reduce_scatter %b on @tp reduction(sum) dim(0) {commsched.name = "rb"} : !whole -> !part)
  // expected-remark-re@below {{[Missed] SummedAfterReduceScatter | Category:commsched | Function=row | {{.*}}commsched.reduce_scatter 'ra' and commsched.reduce_scatter 'rb' are summed up afterwards: the first is on @dp, the second on @tp}}

  $run(%wa = reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !part)
  $run(%wb = reduce_scatter %b on @dp reduction(avg) dim(0) : !whole -> !part)
  // expected-remark@below {{the first reduces by sum, the second reduces by avg}}

  $run(%wa = reduce_scatter %a on @dp reduction(max) dim(0) {commsched.name = "ra"} : !whole -> !part)
  $run(%wb = reduce_scatter %b on @dp reduction(max) dim(0) : !whole -> !part)
  // expected-remark@below {{commsched.reduce_scatter 'ra' reduces by max}}

  $run(%wa = reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !part)
  $run(%wb = reduce_scatter %b on @dp reduction(sum) dim(0) {commsched.name = "rb"} : !whole -> !part)
  commsched.compute "user"(%wb) : (!part) -> ()
  // expected-remark@below {{what commsched.reduce_scatter 'rb' delivers has another user}}

  $run(%wa = reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !part)
  $run(%wb = reduce_scatter %b on @dp reduction(sum) dim(0) into %buffer {commsched.name = "rb"} : !whole into !part -> !part)
  // expected-remark@below {{commsched.reduce_scatter 'rb' is written in place}}

  %ra = commsched.reduce_scatter %a, %b on @dp reduction(sum) dim(0) {commsched.name = "ra"}
      : !whole, !whole -> !commsched.future<!part, !part>
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) : !whole -> !future
  %wa, %other = commsched.wait %ra : !commsched.future<!part, !part>
  %wb = commsched.wait %rb : !future
  // expected-remark@below {{commsched.reduce_scatter 'ra' reduces several tensors}}

  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !future
  commsched.barrier on @tp
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  // expected-remark@below {{no collective may cross what stands between them}}

  // The second of the two is added first.
  $run(%wb = reduce_scatter %a on @dp reduction(sum) dim(0) {commsched.name = "rb"} : !whole -> !part)
  commsched.compute "zero"(%a) {mutates = array<i64: 0>} : (!whole) -> ()
  $run(%wa = reduce_scatter %b on @dp reduction(sum) dim(0) {commsched.name = "ra"} : !whole -> !part)
  // expected-remark@below {{commsched.reduce_scatter 'ra' and commsched.reduce_scatter 'rb' are summed up afterwards: what commsched.reduce_scatter 'rb' sends may be written before commsched.reduce_scatter 'ra' starts}}

// -----

!part = tensor<2xf32>
!whole = tensor<4xf32>
!future = !commsched.future<!part>
!future_u = !commsched.future<!whole>
commsched.group @dp size(2)

func.func @types(%a: tensor<4x2xf32>, %b: tensor<2x4xf32>) -> tensor<2x2xf32> {
  $run(%wa = reduce_scatter %a on @dp reduction(sum) dim(0) : tensor<4x2xf32> -> tensor<2x2xf32>)
  $run(%wb = reduce_scatter %b on @dp reduction(sum) dim(1) : tensor<2x4xf32> -> tensor<2x2xf32>)
  // expected-remark@below {{the first sends a tensor<4x2xf32>, the second a tensor<2x4xf32>}}
  %sum = arith.addf %wa, %wb : tensor<2x2xf32>
  return %sum : tensor<2x2xf32>
}

func.func @dimensions(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  $run(%wa = reduce_scatter %a on @dp reduction(sum) dim(0) : tensor<?x?xf32> -> tensor<?x?xf32>)
  $run(%wb = reduce_scatter %b on @dp reduction(sum) dim(1) : tensor<?x?xf32> -> tensor<?x?xf32>)
  // expected-remark@below {{they differ in more than what they send}}
  %sum = arith.addf %wa, %wb : tensor<?x?xf32>
  return %sum : tensor<?x?xf32>
}

// Not the addition of two tensors, or not of reduce-scatters: no remark. An
// addition without users stays as well.
func.func @others(%a: !whole, %b: !whole, %c: !part, %old: !part)
    -> (!part, !part, !part, !part, !part, !part, !part) {
  $run(%w0 = reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !part)
  $run(%w1 = reduce_scatter %b on @dp reduction(sum) dim(0) : !whole -> !part)
  $run(%w2 = reduce_scatter %c on @dp reduction(sum) dim(0) : !part -> tensor<1xf32>)
  %difference = arith.subf %w0, %w1 : !part
  %accumulated = arith.addf %w0, %old : !part
  %doubled = arith.addf %w0, %w0 : !part
  %in_place = commsched.compute "aten.add_.Tensor"(%w0, %w1)
      {alias = 0, mutates = array<i64: 0>} : (!part, !part) -> !part
  %three = commsched.compute "aten.addcmul"(%w0, %w1) : (!part, !part) -> !part
  %out = commsched.compute "aten.add.out"(%w0, %w1)
      {alias = 0, mutates = array<i64: 0>} : (!part, !part) -> !part
  %broadcast = commsched.compute "aten.add.Tensor"(%w2, %w1) : (tensor<1xf32>, !part) -> !part
  %unused = arith.addf %w0, %w1 : !part
  return %difference, %accumulated, %doubled, %in_place, %three, %out, %broadcast
      : !part, !part, !part, !part, !part, !part, !part
}

func.func @in_a_region(%a: !whole, %b: !whole, %old: !part, %condition: i1) -> !part {
  $run(%wa = reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !part)
  $run(%wb = reduce_scatter %b on @dp reduction(sum) dim(0) : !whole -> !part)
  %result = scf.if %condition -> !part {
    %sum = arith.addf %wa, %wb : !part
    scf.yield %sum : !part
  } else {
    scf.yield %old : !part
  }
  return %result : !part
}

func.func @all_reduces(%a: !whole, %b: !whole) -> !whole {
  %ra = commsched.all_reduce %a on @dp reduction(sum) : !whole -> !future_u
  %rb = commsched.all_reduce %b on @dp reduction(sum) : !whole -> !future_u
  %wa = commsched.wait %ra : !future_u
  %wb = commsched.wait %rb : !future_u
  %sum = arith.addf %wa, %wb : !whole
  return %sum : !whole
}
