// DEFINE: %{options} = memory-budget=1000000
// DEFINE: %{run} = commsched-opt %s --commsched-sink-waits-iterative="%{options}" %remarks -o %t

// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,STOP
// RUN: %orders < %t | FileCheck %s --check-prefixes=CHECK,STOP-IR
// REDEFINE: %{options} = memory-budget=1000000 sink_waits_iterative_swap_with_collectives=true
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,SWAP
// RUN: %orders < %t | FileCheck %s --check-prefixes=CHECK,SWAP-IR
// REDEFINE: %{options} = memory-budget=1000000 max-group-size=1
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=ONE

// What a wait takes along on its way down, and what it does not pass. Memory is
// no matter here.

!t = tensor<16xi8>
commsched.group @g size(4)
commsched.group @h size(4)

// The cheap operations that need the result, and those that need theirs.
// REMARK: Function=chain
// REMARK-SAME: Grouped=2,
// REMARK-SAME: Moved=1,
// REMARK-SAME: 'ar': its wait moves down by 1, with 2 others, limited by nothing
// ONE: Function=chain
// ONE-SAME: 'ar': its wait stays, with 1 other, limited by data dependence with copy; the group is full
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: // order: ar other wait cast copy{{$}}
func.func @chain(%x: !t) -> (!t, !t) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : !t -> !commsched.future<!t>
  %w = commsched.wait %f : !commsched.future<!t>
  %cast = commsched.compute "cast"(%w) : (!t) -> !t
  %copy = commsched.compute "copy"(%cast) : (!t) -> !t
  %other = commsched.compute "other"(%x) : (!t) -> !t
  return %copy, %other : !t, !t
}

// A start ends the way, unless waits may pass starts.
// REMARK: Function=next_start
// REMARK-SAME: 'second': its wait stays, limited by nothing
// STOP: Function=next_start
// STOP-SAME: 'first': its wait moves down by 1, limited by the collective commsched.all_reduce 'second'
// SWAP: Function=next_start
// SWAP-SAME: 'first': its wait moves down by 3, limited by nothing
// STOP-IR-LABEL: func.func @next_start(
// STOP-IR-NEXT: // order: first other wait1 second wait2{{$}}
// SWAP-IR-LABEL: func.func @next_start(
// SWAP-IR-NEXT: // order: first other second wait2 wait1{{$}}
func.func @next_start(%x: !t) -> (!t, !t, !t) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "first"}
      : !t -> !commsched.future<!t>
  %w = commsched.wait %f {commsched.name = "wait1"} : !commsched.future<!t>
  %other = commsched.compute "other"(%x) : (!t) -> !t
  %f1 = commsched.all_reduce %x on @h reduction(max) {commsched.name = "second"}
      : !t -> !commsched.future<!t>
  %w1 = commsched.wait %f1 {commsched.name = "wait2"} : !commsched.future<!t>
  return %w, %other, %w1 : !t, !t, !t
}
