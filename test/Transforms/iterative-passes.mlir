// DEFINE: %{run} = commsched-opt %t.mlir %remarks -o %t
// DEFINE: %{raise} = %{run} --commsched-reorder-comms-preserving-peak-memory="memory-budget=1000000 "
// DEFINE: %{sink} = %{run} --commsched-sink-waits-iterative="memory-budget=1000000 "
// DEFINE: %{says} = 2>&1 | FileCheck %s --check-prefix
// DEFINE: %{up} = 2>&1 | FileCheck %s --check-prefix=HIDDEN -DMOVES="start moves up"
// DEFINE: %{down} = 2>&1 | FileCheck %s --check-prefix=HIDDEN -DMOVES="wait moves down"

// What options do of the passes that move one collective after the other, and what
// remarks say. unittests/Schedule and python/tests/test_inductor_parity.py compare
// how far each moves, and why not further. Memory is no matter here.

// RUN: %rows %s > %t.mlir
// RUN: %{raise} %{says} RAISE
// RUN: %orders < %t | FileCheck %s --check-prefix=RAISED
// RUN: %{raise}reorder_iterative_unsafe_collectives_reorder=false %{says} KEPT
// RUN: %{raise}reorder_iterative_group_with_collectives %{says} WITH
// RUN: %{raise}max-group-size=1 %{says} ONE
// RUN: %{sink} %{says} SINK
// RUN: %orders < %t | FileCheck %s --check-prefix=SUNK
// RUN: %{sink}sink_waits_iterative_swap_with_collectives %{says} SWAP
// RUN: %{sink}max-group-size=1 %{says} ONE-DOWN

// Cheap operations that make the operand go along with the start, those that need
// the result with the wait. Taking along is no move.
// RAISE: Function=chain {{.*}}Grouped=2, {{.*}}Moved=1, {{.*}}'ar': its start moves up by 1, with 2 others, limited by nothing
// ONE: Function=chain {{.*}}its start stays, with 1 other, limited by data dependence with cast; the group is full
// SINK: Function=chain {{.*}}'ar': its wait moves down by 1, with 2 others, limited by nothing
// ONE-DOWN: Function=chain {{.*}}its wait stays, with 1 other, limited by data dependence with narrow; the group is full
// RAISED: // order: cast copy ar other wait widen narrow last{{$}}
// SUNK: // order: other cast copy ar last wait widen narrow{{$}}
!t = tensor<16xi8>
commsched.group @g size(2)
func.func @chain(%x: !t) -> (!t, !t, !t) {
  %other = commsched.compute "other"(%x) : (!t) -> !t
  %cast = commsched.compute "cast"(%x) : (!t) -> !t
  %copy = commsched.compute "copy"(%cast) : (!t) -> !t
  $run(%w = all_reduce %copy on @g reduction(max) {commsched.name = "ar"} : !t -> !t)
  %widen = commsched.compute "widen"(%w) : (!t) -> !t
  %narrow = commsched.compute "narrow"(%widen) : (!t) -> !t
  %last = commsched.compute "last"(%x) : (!t) -> !t
  return %other, %narrow, %last : !t, !t, !t
}

// Eight operations a byte are cheap, 256 for 32 bytes. One more is not.
// RAISE: Function=expensive {{.*}}its start moves up by 1, with 1 other, limited by data dependence with dear, which is expensive
func.func @expensive(%x: !t) -> (!t, !t, !t) {
  %first = commsched.compute "first"(%x) : (!t) -> !t
  %dear = commsched.compute "dear"(%x) {flops = 257.} : (!t) -> !t
  %cheap = commsched.compute "cheap"(%dear) {flops = 256.} : (!t) -> !t
  %other = commsched.compute "other"(%x) : (!t) -> !t
  $run(%w = all_reduce %cheap on @g reduction(max) : !t -> !t)
  return %first, %other, %w : !t, !t, !t
}

// A start passes those before it, unless told not to; a wait those behind it only
// if told to.
// RAISE: Function=two {{.*}}'second': its start moves up by 3, limited by nothing
// KEPT: Function=two {{.*}}'second': its start moves up by 2, limited by the collective commsched.all_reduce 'first'
// SINK: Function=two {{.*}}'first': its wait moves down by 1, limited by the collective commsched.all_reduce 'second'
// SWAP: Function=two {{.*}}'first': its wait moves down by 3, limited by nothing
func.func @two(%x: !t) -> (!t, !t, !t) {
  $run(%w = all_reduce %x on @g reduction(max) {commsched.name = "first"} : !t -> !t)
  %other = commsched.compute "other"(%x) : (!t) -> !t
  $run(%v = all_reduce %x on @g reduction(max) {commsched.name = "second"} : !t -> !t)
  return %w, %other, %v : !t, !t, !t
}

// A wait goes along, its start only if told to.
// RAISE: Function=behind {{.*}}'second': its start moves up by 1, with 2 others, limited by data dependence with commsched.all_reduce 'first', a collective
// WITH: Function=behind {{.*}}'second': its start moves up by 1, with 3 others, limited by data dependence with mm, which is expensive
// ONE: Function=behind {{.*}}'second': its start stays, with 1 other, limited by data dependence with commsched.wait, a wait; the group is full
func.func @behind(%x: !t) -> (!t, !t) {
  %mm = commsched.compute "mm"(%x) {flops = 1.0e9} : (!t) -> !t
  %f = commsched.all_reduce %mm on @g reduction(max) {commsched.name = "first"} : !t -> !commsched.future<!t>
  %other = commsched.compute "other"(%x) : (!t) -> !t
  %w = commsched.wait %f : !commsched.future<!t>
  %cast = commsched.compute "cast"(%w) : (!t) -> !t
  $run(%v = all_reduce %cast on @g reduction(max) {commsched.name = "second"} : !t -> !t)
  return %other, %v : !t, !t
}

// 10 ns of communication, and 10 ns for each operation in the way. By default more
// than 1.5 times 20 ns hide it, which the fourth makes; the second if computation
// counts twice or communication once, the third if 20 ns are enough.
// RUN: %{raise}reorder_iterative_use_runtime_estimations %{up} -DBY=4
// RUN: %{raise}"reorder_iterative_use_runtime_estimations reorder_sink_runtime_estimations_non_comm_mult=2" %{up} -DBY=2
// RUN: %{raise}"reorder_iterative_use_runtime_estimations reorder_sink_runtime_estimations_comm_mult=1" %{up} -DBY=2
// RUN: %{raise}"reorder_iterative_use_runtime_estimations reorder_iterative_extra_comm_comp_overlap=0" %{up} -DBY=3
// RUN: %{sink}sink_iterative_use_runtime_estimations %{down} -DBY=4
// RUN: %{sink}"sink_iterative_use_runtime_estimations sink_iterative_extra_comm_comp_overlap=0" %{down} -DBY=3
// RAISE: Function=hidden {{.*}}its start moves up by 5, limited by nothing
// SINK: Function=hidden {{.*}}its wait moves down by 5, limited by nothing
// HIDDEN: Function=hidden {{.*}}its [[MOVES]] by [[BY]], limited by estimates: computation hides it
func.func @hidden(%x: !t) -> (!t, !t, !t) {
  $take(%u0 = u0 %x in 10 ns : (!t) -> !t)
  $take(%u1 = u1 %u0 in 10 ns : (!t) -> !t)
  $take(%u2 = u2 %u1 in 10 ns : (!t) -> !t)
  $take(%u3 = u3 %u2 in 10 ns : (!t) -> !t)
  $take(%u4 = u4 %u3 in 10 ns : (!t) -> !t)
  $run(%w = all_reduce %x on @g reduction(max) {commsched.runtime_ns = 10} : !t -> !t)
  $take(%d0 = d0 %x in 10 ns : (!t) -> !t)
  $take(%d1 = d1 %d0 in 10 ns : (!t) -> !t)
  $take(%d2 = d2 %d1 in 10 ns : (!t) -> !t)
  $take(%d3 = d3 %d2 in 10 ns : (!t) -> !t)
  $take(%d4 = d4 %d3 in 10 ns : (!t) -> !t)
  return %u4, %w, %d4 : !t, !t, !t
}
