// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-bucket-reduce-scatter="sum-first max-count=1" > %t
// RUN: %orders < %t | FileCheck %s
// RUN: commsched-opt %t --commsched-bucket-reduce-scatter="sum-first max-count=1" | diff - %t
// RUN: commsched-opt %t.mlir --commsched-bucket-reduce-scatter="sum-first max-count=1" %remarks -o /dev/null \
// RUN:   2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %t.mlir --commsched-bucket-reduce-scatter="sum-first max-count=1" \
// RUN:   --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// Reduce-scatters whose results are added become one of the sum.

!part = tensor<2xf32>
!whole = tensor<4xf32>
!future = !commsched.future<!part>
!t = tensor<2x2xf32>
!u = tensor<?x2xi32>
!v = tensor<2x4xf32>
commsched.group @dp size(2)

// The addition and the start come where the later start was, the wait where the
// addition was. Names are joined and the module is what both have in common; of
// costs and orders only the later order stays.
// REMARK: [Passed] SummedBeforeReduceScatter | Category:commsched | Function=operators
// REMARK-SAME: ReduceScatters=2
// REMARK-SAME: one reduce-scatter of the sum replaces commsched.reduce_scatter 'ra', commsched.reduce_scatter 'rb'
// CHECK-LABEL: func.func @operators(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK: %[[A:.*]] = commsched.compute "grad"(%[[X]])
// CHECK-NEXT: %[[OTHER:.*]] = commsched.compute "between"
// CHECK-NEXT: %[[SUM:.*]] = commsched.compute "aten.add.Tensor"(%[[A]], %[[B]]) {commsched.module = "layers.1.mlp", commsched.name = "add", split = "a, a -> a"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[FUTURE:.*]] = commsched.reduce_scatter %[[SUM]] on @dp reduction(avg) dim(0) {commsched.module = "layers.1", commsched.name = "ra+rb", commsched.order = 7 : i64{{.*}}} : tensor<4xf32> -> !commsched.future<tensor<2xf32>>
// CHECK-NEXT: commsched.compute "after"
// CHECK-NEXT: %[[SHARD:.*]] = commsched.wait %[[FUTURE]] {commsched.name = "wa+wb"{{.*}}} : !commsched.future<tensor<2xf32>>
// CHECK-NEXT: return %[[SHARD]], %[[OTHER]]
// LOC-LABEL: func.func @operators(
// LOC: commsched.reduce_scatter {{.*}} loc([[FUSED:#.*]])
// LOC: [[FUSED]] = loc(fused[{{.*}}, {{.*}}])
func.func @operators(%x: !whole, %b: !whole) -> (!part, !whole) {
  %a = commsched.compute "grad"(%x) : (!whole) -> !whole
  %ra = commsched.reduce_scatter %a on @dp reduction(avg) dim(0)
      {commsched.name = "ra", commsched.runtime_ns = 5 : i64,
       commsched.module = "layers.1.mlp", commsched.order = 3 : i64}
      : !whole -> !future
  %between = commsched.compute "between"(%b) : (!whole) -> !whole
  %wa = commsched.wait %ra {commsched.name = "wa"} : !future
  %rb = commsched.reduce_scatter %b on @dp reduction(avg) dim(0)
      {commsched.name = "rb", commsched.runtime_ns = 6 : i64,
       commsched.module = "layers.1.attention", commsched.order = 7 : i64}
      : !whole -> !future
  %wb = commsched.wait %rb {commsched.name = "wb"} : !future
  commsched.compute "after"() : () -> ()
  %sum = commsched.compute "aten.add.Tensor"(%wa, %wb)
      {commsched.name = "add", commsched.runtime_ns = 1 : i64,
       commsched.module = "layers.1.mlp", flops = 2.0, bytes = 24 : i64,
       split = "a, a -> a"} : (!part, !part) -> !part
  return %sum, %between : !part, !whole
}

// A tree of four, in one reduction of three additions. The summands keep their
// places.
// CHECK-LABEL: func.func @tree(
// CHECK-NEXT: // order: late arith.addf arith.addf tensor.empty linalg.add reduce_scatter wait{{$}}
func.func @tree(%a: !v, %x: !v, %c: !v, %d: !v) -> !t {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(1) : !v -> !commsched.future<!t>
  %b = commsched.compute "late"(%x) : (!v) -> !v
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(1) : !v -> !commsched.future<!t>
  %rc = commsched.reduce_scatter %c on @dp reduction(sum) dim(1) : !v -> !commsched.future<!t>
  $run(%wd = reduce_scatter %d on @dp reduction(sum) dim(1) : tensor<2x4xf32> -> tensor<2x2xf32>)
  %wc = commsched.wait %rc : !commsched.future<!t>
  %wb = commsched.wait %rb : !commsched.future<!t>
  %wa = commsched.wait %ra : !commsched.future<!t>
  %ab = arith.addf %wb, %wa fastmath<contract> : !t
  %abc = arith.addf %ab, %wc : !t
  %empty = tensor.empty() : !t
  %all = linalg.add ins(%wd, %abc : !t, !t) outs(%empty : !t) -> !t
  return %all : !t
}

// Sums of integers wrap around, whatever those of shards do. In a region, and
// with a dynamic size.
// CHECK-LABEL: func.func @region(
// CHECK-NEXT: // order: scf.if { arith.addi reduce_scatter wait scf.yield } else {
// CHECK: arith.addi %{{.*}}, %{{.*}} : tensor<?x4xi32>
func.func @region(%a: tensor<?x4xi32>, %b: tensor<?x4xi32>, %old: !u, %condition: i1) -> !u {
  %result = scf.if %condition -> !u {
    %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(1) : tensor<?x4xi32> -> !commsched.future<!u>
    %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(1) : tensor<?x4xi32> -> !commsched.future<!u>
    %wa = commsched.wait %ra : !commsched.future<!u>
    %wb = commsched.wait %rb : !commsched.future<!u>
    %sum = arith.addi %wa, %wb overflow<nsw> : !u
    scf.yield %sum : !u
  } else {
    scf.yield %old : !u
  }
  return %result : !u
}

// A summand that does not fit is added afterwards.
// REMARK: [Missed] SummedAfterReduceScatter | Category:commsched | Function=partly
// REMARK-SAME: arith.addf and commsched.reduce_scatter 'rc' are summed up afterwards: the first reduces by sum, the second reduces by avg
// REMARK: [Passed] SummedBeforeReduceScatter | Category:commsched | Function=partly
// REMARK-SAME: ReduceScatters=2
// CHECK-LABEL: func.func @partly(
// CHECK-NEXT: // order: arith.addf reduce_scatter rc wait wait arith.addf{{$}}
func.func @partly(%a: !whole, %b: !whole, %c: !whole) -> !part {
  $run(%wa = reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !part)
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) : !whole -> !future
  %rc = commsched.reduce_scatter %c on @dp reduction(avg) dim(0)
      {commsched.name = "rc"} : !whole -> !future
  %wb = commsched.wait %rb : !future
  %wc = commsched.wait %rc : !future
  %ab = arith.addf %wa, %wb : !part
  %abc = arith.addf %ab, %wc : !part
  return %abc : !part
}

// The sum of two sums. What is sent first is written before the last starts,
// but not before what it is added to.
// CHECK-LABEL: func.func @written_after_the_sum(
// CHECK-NEXT: // order: arith.addf zero arith.addf arith.addf reduce_scatter wait{{$}}
func.func @written_after_the_sum(%a: !whole, %b: !whole, %c: !whole, %d: !whole) -> !part {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !future
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  commsched.compute "zero"(%a) {mutates = array<i64: 0>} : (!whole) -> ()
  %rc = commsched.reduce_scatter %c on @dp reduction(sum) dim(0) : !whole -> !future
  %rd = commsched.reduce_scatter %d on @dp reduction(sum) dim(0) : !whole -> !future
  %wc = commsched.wait %rc : !future
  %wd = commsched.wait %rd : !future
  %ab = arith.addf %wa, %wb : !part
  %cd = arith.addf %wc, %wd : !part
  %all = arith.addf %ab, %cd : !part
  return %all : !part
}

// What is used twice is reduced once; what it is added to stays.
// CHECK-LABEL: func.func @used_twice(
// CHECK-NEXT: // order: arith.addf reduce_scatter reduce_scatter wait wait arith.addf{{$}}
func.func @used_twice(%a: !whole, %b: !whole, %c: !whole) -> (!part, !part) {
  %ra = commsched.reduce_scatter %a on @dp reduction(sum) dim(0) : !whole -> !future
  %rb = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) : !whole -> !future
  %rc = commsched.reduce_scatter %c on @dp reduction(sum) dim(0) : !whole -> !future
  %wa = commsched.wait %ra : !future
  %wb = commsched.wait %rb : !future
  %wc = commsched.wait %rc : !future
  %ab = arith.addf %wa, %wb : !part
  %abc = arith.addf %ab, %wc : !part
  return %abc, %ab : !part, !part
}
