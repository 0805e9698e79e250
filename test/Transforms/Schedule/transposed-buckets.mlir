// RUN: commsched-opt %s \
// RUN:   --commsched-assume-fusion --commsched-pipeline="memory-budget=0%% mode=copy" \
// RUN:   --commsched-report="format=json output=%t.first" -o %t.mlir
// RUN: commsched-opt %t.mlir --commsched-pipeline="memory-budget=0%% mode=copy" \
// RUN:   --commsched-report="format=json output=%t.second" -o /dev/null
// RUN: FileCheck %s < %t.first
// RUN: grep -o '"step_time_ns":[0-9]*' %t.first > %t.times
// RUN: grep -o '"step_time_ns":[0-9]*' %t.second | diff %t.times -

// Gathers along the second dimension: behind the copy-out of a bucket stands a
// transposition of each tensor, which a product absorbs and a negation fuses. A
// second run, which reads what has become of the buckets, gains nothing.

// CHECK: "function":"product",{{.*}}"num_collectives":2,
// CHECK: "function":"negation",{{.*}}"num_collectives":2,

!shard = tensor<512x64xbf16>
!whole = tensor<512x512xbf16>

commsched.group @g size(8)

func.func @product(%x: !whole, %w0: !shard, %w1: !shard, %w2: !shard, %w3: !shard, %w4: !shard, %w5: !shard) -> !whole {
  %f0 = commsched.all_gather %w0 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g0 = commsched.wait %f0 : !commsched.future<!whole>
  %f1 = commsched.all_gather %w1 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g1 = commsched.wait %f1 : !commsched.future<!whole>
  %f2 = commsched.all_gather %w2 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g2 = commsched.wait %f2 : !commsched.future<!whole>
  %f3 = commsched.all_gather %w3 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g3 = commsched.wait %f3 : !commsched.future<!whole>
  %f4 = commsched.all_gather %w4 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g4 = commsched.wait %f4 : !commsched.future<!whole>
  %f5 = commsched.all_gather %w5 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g5 = commsched.wait %f5 : !commsched.future<!whole>
  %y0 = "stablehlo.dot_general"(%x, %g0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %y1 = "stablehlo.dot_general"(%y0, %g1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %y2 = "stablehlo.dot_general"(%y1, %g2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %y3 = "stablehlo.dot_general"(%y2, %g3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %y4 = "stablehlo.dot_general"(%y3, %g4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %y5 = "stablehlo.dot_general"(%y4, %g5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  return %y5 : !whole
}

func.func @negation(%x: !whole, %w0: !shard, %w1: !shard, %w2: !shard, %w3: !shard, %w4: !shard, %w5: !shard) -> !whole {
  %f0 = commsched.all_gather %w0 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g0 = commsched.wait %f0 : !commsched.future<!whole>
  %f1 = commsched.all_gather %w1 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g1 = commsched.wait %f1 : !commsched.future<!whole>
  %f2 = commsched.all_gather %w2 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g2 = commsched.wait %f2 : !commsched.future<!whole>
  %f3 = commsched.all_gather %w3 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g3 = commsched.wait %f3 : !commsched.future<!whole>
  %f4 = commsched.all_gather %w4 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g4 = commsched.wait %f4 : !commsched.future<!whole>
  %f5 = commsched.all_gather %w5 on @g dim(1) : !shard -> !commsched.future<!whole>
  %g5 = commsched.wait %f5 : !commsched.future<!whole>
  %s0 = "stablehlo.negate"(%g0) : (!whole) -> !whole
  %y0 = "stablehlo.dot_general"(%x, %s0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %s1 = "stablehlo.negate"(%g1) : (!whole) -> !whole
  %y1 = "stablehlo.dot_general"(%y0, %s1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %s2 = "stablehlo.negate"(%g2) : (!whole) -> !whole
  %y2 = "stablehlo.dot_general"(%y1, %s2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %s3 = "stablehlo.negate"(%g3) : (!whole) -> !whole
  %y3 = "stablehlo.dot_general"(%y2, %s3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %s4 = "stablehlo.negate"(%g4) : (!whole) -> !whole
  %y4 = "stablehlo.dot_general"(%y3, %s4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  %s5 = "stablehlo.negate"(%g5) : (!whole) -> !whole
  %y5 = "stablehlo.dot_general"(%y4, %s5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (!whole, !whole) -> !whole
  return %y5 : !whole
}
