// A fraction of the bytes that the minimum cut saves: a knapsack decides which
// products are computed again. The proposals list what is saved.

// RUN: %rows %s > %t.mlir
// DEFINE: %{saved} = commsched-opt %t.mlir -o /dev/null --commsched-partition-joint="propose=- "

// RUN: %{saved} | FileCheck %s --check-prefix=ALL
// RUN: %{saved}activation-memory-budget=1 | FileCheck %s --check-prefix=ALL
// RUN: %{saved}activation-memory-budget=0.999 | FileCheck %s --check-prefix=LESS
// RUN: %{saved}activation-memory-budget=0.625 | FileCheck %s --check-prefix=DP
// RUN: %{saved}"activation-memory-budget=0.625 memory-budget-solver=greedy" | FileCheck %s --check-prefix=GREEDY
// RUN: %{saved}activation-memory-budget=0 | FileCheck %s --check-prefix=NONE

// RUN: %{saved}activation-memory-budget=0.34 | FileCheck %s --check-prefix=FLOPS
// RUN: %{saved}"activation-memory-budget=0.34 runtime-estimator=model" | FileCheck %s --check-prefix=MODEL
// RUN: %{saved}"activation-memory-budget=0.34 runtime-estimator=testing" | FileCheck %s --check-prefix=TESTING

// RUN: commsched-opt %t.mlir --commsched-partition-joint=activation-memory-budget=0.3 \
// RUN:   --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Both solvers have 100 bytes. A product's worth is its floating-point
// operations: "b" and "c" are worth more than "a", but "a" more per byte.

!t = tensor<4xi8>
!b50 = tensor<50xi8>

// ALL: "function":"solvers"{{.*}}"saved":["arg0","a","b","c"],
// LESS: "function":"solvers"{{.*}}"saved":["arg0","a","b"],
// DP: "function":"solvers"{{.*}}"saved":["arg0","b","c"],
// GREEDY: "function":"solvers"{{.*}}"saved":["arg0","a"],
// NONE: "function":"solvers"{{.*}}"saved":["arg0"],
func.func @solvers(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a",
      commsched.runtime_ns = 1, flops = 60.0}
      : (!t) -> tensor<60xi8>
  %b = commsched.compute "aten.mm"(%x) {commsched.name = "b",
      commsched.runtime_ns = 1, flops = 49.0} : (!t) -> !b50
  %c = commsched.compute "aten.mm"(%x) {commsched.name = "c",
      commsched.runtime_ns = 1, flops = 49.0} : (!t) -> !b50
  $take(%y = y %a, %b, %c in 1 ns : (tensor<60xi8>, !b50, !b50) -> !t)
  $take(%g = back %dy, %x, %a, %b, %c in 1 ns : (!t, !t, tensor<60xi8>, !b50, !b50) -> !t)
  return %y, %g : !t, !t
}

// "a" is worth most by its floating-point operations, "b" by the time that it
// takes, "c" and "d" are more operations.

// FLOPS: "function":"estimators"{{.*}}"saved":["arg0","a"],
// MODEL: "function":"estimators"{{.*}}"saved":["arg0","b"],
// TESTING: "function":"estimators"{{.*}}"saved":["arg0","c","d"],
func.func @estimators(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a",
      commsched.runtime_ns = 10, flops = 1000.0} : (!t) -> !b50
  %b = commsched.compute "aten.mm"(%x) {commsched.name = "b",
      commsched.runtime_ns = 1000, flops = 10.0} : (!t) -> !b50
  %c = commsched.compute "aten.mm"(%x) {commsched.name = "c",
      commsched.runtime_ns = 5, flops = 5.0} : (!t) -> tensor<25xi8>
  %d = commsched.compute "aten.mm"(%x) {commsched.name = "d",
      commsched.runtime_ns = 5, flops = 5.0} : (!t) -> tensor<25xi8>
  $take(%y = y %a, %b, %c, %d in 1 ns : (!b50, !b50, tensor<25xi8>, tensor<25xi8>) -> !t)
  $take(%g = back %dy, %x, %a, %b, %c, %d in 1 ns : (!t, !t, !b50, !b50, tensor<25xi8>, tensor<25xi8>) -> !t)
  return %y, %g : !t, !t
}

// Of 100 bytes at most 30 may be saved, but 40 have to be.

// REMARK: remark: [Missed] PartitionOverBudget
// REMARK-SAME: Function=over
// REMARK-SAME: AllowedBytes=30, LeastBytes=40, Remark="no partition saves as little as the budget"
// REMARK: remark: [Passed] Partitioned
// REMARK-SAME: Function=over
// REMARK-SAME: SavedBytes=40, SavedValues=2
func.func @over(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %a = commsched.compute "aten.mm"(%x) {commsched.name = "a",
      commsched.recompute = "must_save", commsched.runtime_ns = 1}
      : (!t) -> tensor<40xi8>
  %b = commsched.compute "aten.mm"(%x) {commsched.name = "b",
      commsched.runtime_ns = 1} : (!t) -> tensor<60xi8>
  $take(%y = y %a, %b in 1 ns : (tensor<40xi8>, tensor<60xi8>) -> !t)
  $take(%g = back %dy, %x, %a, %b in 1 ns : (!t, !t, tensor<40xi8>, tensor<60xi8>) -> !t)
  return %y, %g : !t, !t
}
