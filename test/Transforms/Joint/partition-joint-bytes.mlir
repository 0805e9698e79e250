// A budget in bytes is one for the peak of the step, forward and backward
// together: saving less is of no use where computing it again takes as much.

// DEFINE: %{budget} =
// DEFINE: %{partition} = commsched-opt %s -o /dev/null \
// DEFINE:   --commsched-partition-joint=%{budget} \
// DEFINE:   --remarks-filter=commsched \
// DEFINE:   --commsched-report=format=json 2>&1

// REDEFINE: %{budget} = activation-memory-budget=1.0
// RUN: %{partition} | FileCheck %s --check-prefix=ALL
// REDEFINE: %{budget} = memory-budget=2130
// RUN: %{partition} | FileCheck %s --check-prefix=ALL
// REDEFINE: %{budget} = memory-budget=3KB
// RUN: %{partition} | FileCheck %s --check-prefix=ALL
// REDEFINE: %{budget} = memory-budget=2KiB
// RUN: %{partition} | FileCheck %s --check-prefix=LESS
// REDEFINE: %{budget} = memory-budget=2129
// RUN: %{partition} | FileCheck %s --check-prefix=LESS
// REDEFINE: %{budget} = memory-budget=1440
// RUN: %{partition} | FileCheck %s --check-prefix=LESS
// REDEFINE: %{budget} = memory-budget=1439
// RUN: %{partition} | FileCheck %s --check-prefixes=OVER,LESS
// REDEFINE: %{budget} = activation-memory-budget=0.0
// RUN: %{partition} | FileCheck %s --check-prefix=NONE

// ALL-NOT: PartitionOverBudget
// ALL: "function":"step",{{.*}}"peak_memory_bytes":2130,
// OVER: remark: [Missed] PartitionOverBudget
// OVER-SAME: AllowedBytes=1439, LeastBytes=1440, Remark="no partition's peak is within the budget"
// LESS-NOT: PartitionOverBudget
// LESS: "function":"step",{{.*}}"peak_memory_bytes":1440,
// NONE: "function":"step",{{.*}}"peak_memory_bytes":2130,
func.func @step(
    %x: tensor<10xi8> {commsched.role = "input"},
    %dy: tensor<10xi8> {commsched.role = "tangent"})
    -> (tensor<10xi8>, tensor<10xi8>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %a = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<10xi8>) -> tensor<1000xi8>
  %b = commsched.compute "aten.mm"(%a) {commsched.runtime_ns = 10 : i64}
      : (tensor<1000xi8>) -> tensor<400xi8>
  %c = commsched.compute "aten.mm"(%b) {commsched.runtime_ns = 10 : i64}
      : (tensor<400xi8>) -> tensor<300xi8>
  %y = commsched.compute "y"(%c) {commsched.runtime_ns = 10 : i64}
      : (tensor<300xi8>) -> tensor<10xi8>
  %dc = commsched.compute "back"(%dy, %c) {commsched.runtime_ns = 10 : i64}
      : (tensor<10xi8>, tensor<300xi8>) -> tensor<300xi8>
  %db = commsched.compute "back"(%dc, %b) {commsched.runtime_ns = 10 : i64}
      : (tensor<300xi8>, tensor<400xi8>) -> tensor<400xi8>
  %da = commsched.compute "back"(%db, %a) {commsched.runtime_ns = 10 : i64}
      : (tensor<400xi8>, tensor<1000xi8>) -> tensor<10xi8>
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
