// RUN: %rows %s > %t.mlir
// DEFINE: %{options} = memory-budget=1000000
// DEFINE: %{run} = commsched-opt %t.mlir \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory="%{options}" %remarks -o %t

// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,ALONE
// RUN: %orders < %t | FileCheck %s
// REDEFINE: %{options} = memory-budget=1000000 reorder_iterative_group_with_collectives=true
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,WITH
// RUN: %orders < %t | FileCheck %s
// REDEFINE: %{options} = memory-budget=1000000 max-group-size=1
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=ONE
// REDEFINE: %{options} = memory-budget=1000000 max-group-size=0
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=NONE

// What a start takes along on its way up. Memory is no matter here.

!t = tensor<16xi8>
commsched.group @g size(2)

// The cheap operations that make the operand. Taking along is no move.
// REMARK: Function=chain
// REMARK-SAME: Grouped=2,
// REMARK-SAME: Moved=1,
// REMARK-SAME: its start moves up by 1, with 2 others, limited by nothing
// ONE: Function=chain
// ONE-SAME: its start stays, with 1 other, limited by data dependence with cast; the group is full
// NONE: Function=chain
// NONE-SAME: its start stays, limited by data dependence with copy; the group is full
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: // order: cast copy ar other wait{{$}}
func.func @chain(%x: !t) -> (!t, !t) {
  %other = commsched.compute "other"(%x) : (!t) -> !t
  %cast = commsched.compute "cast"(%x) : (!t) -> !t
  %copy = commsched.compute "copy"(%cast) : (!t) -> !t
  $run(%w = all_reduce %copy on @g reduction(max) {commsched.name = "ar"} : !t -> !t)
  return %other, %w : !t, !t
}

// Eight operations a byte are cheap: 256 for the 32 bytes.
// REMARK: Function=as_many_flops_as_is_cheap
// REMARK-SAME: its start moves up by 1, with 1 other, limited by nothing
// CHECK-LABEL: func.func @as_many_flops_as_is_cheap(
// CHECK-NEXT: // order: mm ar other wait{{$}}
func.func @as_many_flops_as_is_cheap(%x: !t) -> (!t, !t) {
  %other = commsched.compute "other"(%x) : (!t) -> !t
  %mm = commsched.compute "mm"(%x) {flops = 256. : f64} : (!t) -> !t
  $run(%w = all_reduce %mm on @g reduction(max) {commsched.name = "ar"} : !t -> !t)
  return %other, %w : !t, !t
}

// One more is not: the start passes what is between, and stops there.
// REMARK: Function=expensive
// REMARK-SAME: its start moves up by 1, limited by data dependence with mm, which is expensive
// CHECK-LABEL: func.func @expensive(
// CHECK-NEXT: // order: first mm ar other wait{{$}}
func.func @expensive(%x: !t) -> (!t, !t, !t) {
  %first = commsched.compute "first"(%x) : (!t) -> !t
  %mm = commsched.compute "mm"(%x) {flops = 257. : f64} : (!t) -> !t
  %other = commsched.compute "other"(%x) : (!t) -> !t
  $run(%w = all_reduce %mm on @g reduction(max) {commsched.name = "ar"} : !t -> !t)
  return %first, %other, %w : !t, !t, !t
}

// A wait goes along, its start only if told to.
// REMARK: Function=collective_of_a_collective
// REMARK-SAME: 'first': its start stays, limited by data dependence with mm, which is expensive
// ALONE: Function=collective_of_a_collective
// ALONE-SAME: 'second': its start moves up by 1, with 2 others, limited by data dependence with commsched.all_reduce 'first', a collective
// WITH: Function=collective_of_a_collective
// WITH-SAME: 'second': its start moves up by 1, with 3 others, limited by data dependence with mm, which is expensive
// ONE: Function=collective_of_a_collective
// ONE-SAME: 'first'
// ONE: Function=collective_of_a_collective
// ONE-SAME: 'second': its start stays, with 1 other, limited by data dependence with commsched.wait, a wait; the group is full
// CHECK-LABEL: func.func @collective_of_a_collective(
// CHECK-NEXT: // order: mm first wait cast second other wait{{$}}
func.func @collective_of_a_collective(%x: !t) -> (!t, !t) {
  %mm = commsched.compute "mm"(%x) {flops = 1.0e9 : f64} : (!t) -> !t
  %f = commsched.all_reduce %mm on @g reduction(max) {commsched.name = "first"}
      : !t -> !commsched.future<!t>
  %other = commsched.compute "other"(%x) : (!t) -> !t
  %w = commsched.wait %f : !commsched.future<!t>
  %cast = commsched.compute "cast"(%w) : (!t) -> !t
  $run(%w1 = all_reduce %cast on @g reduction(max) {commsched.name = "second"} : !t -> !t)
  return %other, %w1 : !t, !t
}
