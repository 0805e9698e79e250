// RUN: %rows %s > %t.mlir
// DEFINE: %{run} = commsched-opt %t.mlir %remarks -o %t
// RUN: %{run} --commsched-reorder-comms-preserving-peak-memory=memory-budget=100 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=REMARK,RAISE
// RUN: %orders < %t | FileCheck %s --check-prefixes=CHECK,RAISED
// RUN: %{run} --commsched-sink-waits-iterative=memory-budget=100 2>&1 | FileCheck %s --check-prefixes=REMARK,SINK
// RUN: %orders < %t | FileCheck %s --check-prefixes=CHECK,SUNK

// Programs that take more than the budget of 100 bytes.

LET $chains
  %a = commsched.compute "a"() : () -> tensor<16xi8>
  %b = commsched.compute "b"() : () -> tensor<16xi8>
  %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
  %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>

!t = tensor<20xi8>
!u = tensor<1xi8>
commsched.group @g size(2)

// Arguments alone do. The order that needs least is what is left to
// do, and the remark says how far that is.
// REMARK: remark: [Missed] BudgetExceeded | Category:commsched | Function=arguments
// REMARK-SAME: ArgumentBytes=110, BudgetBytes=100, PeakBytes=132,
// REMARK-SAME: the schedule that needs least takes 132 bytes, 32 over the budget of 100; arguments alone take 110
// CHECK-LABEL: func.func @arguments({{.*}}attributes {commsched.baseline_peak_bytes = 143 : i64}
// CHECK-NEXT: // order: a c b d all_reduce wait{{$}}
func.func @arguments(%x: !t, %y: tensor<90xi8>) -> (!u, !u, !t) {
  $chains
  $run(%w = all_reduce %x on @g reduction(max) : !t -> !t)
  return %c, %d, %w : !u, !u, !t
}

// Nothing is there to reorder: the program stays as it is, without a baseline.
// REMARK: remark: [Missed] BudgetExceeded | Category:commsched | Function=nothing_to_do
// REMARK-SAME: the schedule that needs least takes 101 bytes, 1 over the budget of 100; arguments alone take 100
// CHECK-LABEL: func.func @nothing_to_do(
// CHECK-NOT: baseline
func.func @nothing_to_do(%x: !u, %y: tensor<99xi8>) -> !u {
  $run(%w = all_reduce %x on @g reduction(max) : !u -> !u)
  return %w : !u
}

// Another order keeps the budget, and from there collectives move as far as it
// allows.
// REMARK-NOT: Exceeded
// REMARK: remark: [Passed] BlockReordered | Category:commsched | Function=another_order
// REMARK-SAME: lowers the peak memory from {{[0-9]+}} to {{[0-9]+}} bytes, for a budget of 100
// REMARK-NOT: Exceeded
// RAISE: CollectiveMoved {{.*}}Function=another_order {{.*}}its start moves up by 1, limited by memory: passing d takes 115 bytes of 100
// SINK: CollectiveKept {{.*}}Function=another_order {{.*}}its wait stays, limited by nothing
// CHECK-LABEL: func.func @another_order({{.*}}attributes {commsched.baseline_peak_bytes = 110 : i64}
// RAISED-NEXT: // order: a c b d all_reduce e wait{{$}}
// SUNK-NEXT: // order: a c b d e all_reduce wait{{$}}
func.func @another_order(%x: !t, %y: tensor<57xi8>) -> (!u, !u, !t) {
  $chains
  %e = commsched.compute "e"(%d) : (!u) -> !u
  $run(%w = all_reduce %x on @g reduction(max) : !t -> !t)
  return %c, %e, %w : !u, !u, !t
}
