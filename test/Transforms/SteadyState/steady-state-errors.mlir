// RUN: commsched-opt %s --test-commsched-steady-state --remarks-filter=commsched \
// RUN:   -o /dev/null 2>&1 | FileCheck %s
// RUN: %fails commsched-opt %s --test-commsched-steady-state=max-depth=9 "option 'max-depth' of pass 'test-commsched-steady-state' must be from 1 to 8, but is 9"
// RUN: not commsched-opt %s --test-commsched-steady-state=budget-on=reserved 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: %fails commsched-opt %s --test-commsched-steady-state="budget-on=reserved memory-budget=1GiB allocator=none" \
// RUN:   "option 'allocator' of pass 'test-commsched-steady-state' is 'none', but option 'budget-on' is 'reserved'"

// BYTES: option 'budget-on' of pass 'test-commsched-steady-state' is 'reserved', which needs a memory budget in bytes, but option 'memory-budget' is '5%'

func.func @unpriced(%m: tensor<4xf32> {commsched.carried = 0 : i64}) -> tensor<4xf32> {
  // CHECK: [[@LINE+1]]:8: remark: [Analysis] AssumedTime {{.*}}Function=unpriced {{.*}}f is assumed to take 1000 ns
  %b = commsched.compute "f"(%m) : (tensor<4xf32>) -> tensor<?xf32>
  %c = commsched.compute "g"(%b) {commsched.runtime_ns = 5 : i64} : (tensor<?xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
