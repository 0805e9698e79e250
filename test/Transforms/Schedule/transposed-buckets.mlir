// RUN: %rows %s | commsched-opt \
// RUN:   --commsched-assume-fusion --commsched-pipeline="memory-budget=0%% mode=copy" \
// RUN:   --commsched-report="format=json output=%t.first" -o %t.mlir
// RUN: commsched-opt %t.mlir --commsched-pipeline="memory-budget=0%% mode=copy" \
// RUN:   --commsched-report="format=json output=%t.second" -o /dev/null
// RUN: FileCheck %s < %t.first
// RUN: grep -o '"step_time_ns":[0-9]*' %t.first > %t.times
// RUN: grep -o '"step_time_ns":[0-9]*' %t.second | diff %t.times -
// RUN: %rows %s | commsched-opt -o /dev/null --commsched-assume-fusion \
// RUN:   --commsched-pipeline="memory-budget=100%% mode=copy" --remarks-filter=commsched \
// RUN:   --commsched-report="format=json output=%t.json" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --check-prefix=REPORT < %t.json

// Gathers along the second dimension: behind the copy-out of a bucket stands a
// transposition of each tensor, which a product absorbs and a negation fuses. A
// second run, which reads what has become of the buckets, gains nothing.

// CHECK: "function":"product",{{.*}}"num_collectives":2,
// CHECK: "function":"negation",{{.*}}"num_collectives":2,

LET $product(R = A * B) R = "stablehlo.dot_general"(A, B)
  <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole

!shard = tensor<512x64xbf16>
!row = tensor<64x512xbf16>
!whole = tensor<512x512xbf16>

commsched.group @g size(8)

func.func @product(%x: !whole, %w0: !shard, %w1: !shard, %w2: !shard, %w3: !shard) -> !whole {
  $run(%g0 = all_gather %w0 on @g dim(1) : !shard -> !whole)
  $run(%g1 = all_gather %w1 on @g dim(1) : !shard -> !whole)
  $run(%g2 = all_gather %w2 on @g dim(1) : !shard -> !whole)
  $run(%g3 = all_gather %w3 on @g dim(1) : !shard -> !whole)
  $product(%y0 = %x * %g0)
  $product(%y1 = %y0 * %g1)
  $product(%y2 = %y1 * %g2)
  $product(%y3 = %y2 * %g3)
  return %y3 : !whole
}

func.func @negation(%x: !whole, %w0: !shard, %w1: !shard, %w2: !shard, %w3: !shard) -> !whole {
  $run(%g0 = all_gather %w0 on @g dim(1) : !shard -> !whole)
  $run(%g1 = all_gather %w1 on @g dim(1) : !shard -> !whole)
  $run(%g2 = all_gather %w2 on @g dim(1) : !shard -> !whole)
  $run(%g3 = all_gather %w3 on @g dim(1) : !shard -> !whole)
  %s0 = "stablehlo.negate"(%g0) : (!whole) -> !whole
  $product(%y0 = %x * %s0)
  %s1 = "stablehlo.negate"(%g1) : (!whole) -> !whole
  $product(%y1 = %y0 * %s1)
  %s2 = "stablehlo.negate"(%g2) : (!whole) -> !whole
  $product(%y2 = %y1 * %s2)
  %s3 = "stablehlo.negate"(%g3) : (!whole) -> !whole
  $product(%y3 = %y2 * %s3)
  return %y3 : !whole
}

// The copy-in of a bucket of reductions reads what is transposed for it, and each
// result that is returned is copied out of it. Both are in the promise.

// REMARK: BlockScheduled | {{.*}}Function=reductions | {{.*}}StepNsAfter=50432,
// REPORT: "function":"reductions",{{.*}}"num_collectives":1,{{.*}}"step_time_ns":50432,
func.func @reductions(%x: !whole, %y0: !whole, %y1: !whole, %y2: !whole, %y3: !whole) -> (!row, !row, !row, !row) {
  %n = "stablehlo.negate"(%x) : (!whole) -> !whole
  %m = "stablehlo.negate"(%n) : (!whole) -> !whole
  $product(%d0 = %m * %y0)
  %t0 = "stablehlo.transpose"(%d0) <{permutation = array<i64: 1, 0>}> : (!whole) -> !whole
  $run(%r0 = reduce_scatter %t0 on @g reduction(sum) dim(0) : !whole -> !row)
  $product(%d1 = %m * %y1)
  %t1 = "stablehlo.transpose"(%d1) <{permutation = array<i64: 1, 0>}> : (!whole) -> !whole
  $run(%r1 = reduce_scatter %t1 on @g reduction(sum) dim(0) : !whole -> !row)
  $product(%d2 = %m * %y2)
  %t2 = "stablehlo.transpose"(%d2) <{permutation = array<i64: 1, 0>}> : (!whole) -> !whole
  $run(%r2 = reduce_scatter %t2 on @g reduction(sum) dim(0) : !whole -> !row)
  $product(%d3 = %m * %y3)
  %t3 = "stablehlo.transpose"(%d3) <{permutation = array<i64: 1, 0>}> : (!whole) -> !whole
  $run(%r3 = reduce_scatter %t3 on @g reduction(sum) dim(0) : !whole -> !row)
  return %r0, %r1, %r2, %r3 : !row, !row, !row, !row
}
