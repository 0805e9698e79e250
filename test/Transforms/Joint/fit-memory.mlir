// One budget for both halves: what is saved and how both are scheduled are
// chosen together.

// DEFINE: %{fit} = commsched-opt %s -o /dev/null --remarks-filter=commsched 2>&1 --test-commsched-fit-memory=
// DEFINE: %{check} = --test-commsched-verify-partition --commsched-report=format=json

// RUN: %{fit}memory-budget=2130 %{check} | FileCheck %s --check-prefix=ALL
// RUN: %{fit}"memory-budget=3KB reserved-bytes=871" %{check} | FileCheck %s --check-prefix=LESS
// RUN: %{fit}memory-budget=2129 %{check} | FileCheck %s --check-prefix=LESS
// RUN: %{fit}memory-budget=1439 %{check} | FileCheck %s --check-prefixes=OVER
// RUN: not %{fit}"memory-budget=1439 strict" %{check} | FileCheck %s --check-prefixes=STRICT

// The partition alone keeps to a budget in bytes as well, which is one for the
// peak of the step, forward and backward together: saving less is of no use where
// computing it again takes as much.

// DEFINE: %{partition} = commsched-opt %s -o /dev/null \
// DEFINE:   --remarks-filter=commsched 2>&1 --commsched-partition-joint=

// RUN: %{partition}memory-budget=2130 --commsched-report=format=json | FileCheck %s --check-prefix=MOST
// RUN: %{partition}memory-budget=2129 --commsched-report=format=json | FileCheck %s --check-prefix=LEAST
// RUN: %{partition}memory-budget=1439 --commsched-report=format=json | FileCheck %s --check-prefixes=NO-LESS
// RUN: %{partition}activation-memory-budget=0.0 \
// RUN:   --commsched-report=format=json | FileCheck %s --check-prefix=MOST

// MOST-NOT: PartitionOverBudget
// MOST: "function":"step",{{.*}}"peak_memory_bytes":2130,
// NO-LESS: remark: [Missed] PartitionOverBudget
// NO-LESS-SAME: AllowedBytes=1439, LeastBytes=1440, Remark="no partition's peak is within the budget"
// LEAST-NOT: PartitionOverBudget
// LEAST: "function":"step",{{.*}}"peak_memory_bytes":1440,
// ALL: remark: [Passed] MemoryFitted
// ALL-SAME: SavedBytes=1700
// ALL-NOT: MemoryExceeded
// ALL: "function":"step",{{.*}}"step_time_ns":70,{{.*}}"peak_memory_bytes":2130,
// LESS: remark: [Passed] MemoryFitted
// LESS-NOT: MemoryExceeded
// LESS: "function":"step",{{.*}}"step_time_ns":80,{{.*}}"peak_memory_bytes":1440,
// OVER: remark: [Missed] MemoryExceeded
// OVER-SAME: AllowedBytes=1439, LeastBytes=1440, Remark="the step that needs least takes 1440 bytes, 1 more than the 1439 bytes that are left of the device; the largest values at its peak are 'aten.mm' (1000 bytes,
// OVER: "function":"step",{{.*}}"peak_memory_bytes":1440
// STRICT: error: cannot be fitted: the step that needs least takes 1440 bytes
func.func @step(%x: tensor<10xi8> {commsched.role = "input"}, %dy: tensor<10xi8>
    {commsched.role = "tangent"}) -> (tensor<10xi8>, tensor<10xi8>)
    attributes {commsched.num_forward_outputs = 1} {
  %a = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 10}
      : (tensor<10xi8>) -> tensor<1000xi8>
  %b = commsched.compute "aten.mm"(%a) {commsched.runtime_ns = 10}
      : (tensor<1000xi8>) -> tensor<400xi8>
  %c = commsched.compute "aten.mm"(%b) {commsched.runtime_ns = 10}
      : (tensor<400xi8>) -> tensor<300xi8>
  %y = commsched.compute "y"(%c) {commsched.runtime_ns = 10} : (tensor<300xi8>) -> tensor<10xi8>
  %dc = commsched.compute "back"(%dy, %c) {commsched.runtime_ns = 10}
      : (tensor<10xi8>, tensor<300xi8>) -> tensor<300xi8>
  %db = commsched.compute "back"(%dc, %b) {commsched.runtime_ns = 10}
      : (tensor<300xi8>, tensor<400xi8>) -> tensor<400xi8>
  %da = commsched.compute "back"(%db, %a) {commsched.runtime_ns = 10}
      : (tensor<400xi8>, tensor<1000xi8>) -> tensor<10xi8>
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
