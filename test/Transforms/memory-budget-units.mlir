// Passes and pipelines read the texts of budgets alike: a program that is over it
// says how many bytes it is. unittests/CAPI has all units and errors.

// DEFINE: %{run} = commsched-opt %s %remarks -o /dev/null
// DEFINE: %{says} = 2>&1 | FileCheck %s --check-prefix
// RUN: %{run} --commsched-reorder-comms-preserving-peak-memory=memory-budget=7 %{says} NONE
// NONE: BudgetExceeded {{.*}} BudgetBytes=7,
// RUN: %{run} --commsched-reorder-comms-preserving-peak-memory=memory-budget=7MiB %{says} MIB
// RUN: %{run} --commsched-sink-waits-iterative=memory-budget=7MiB %{says} MIB
// RUN: %{run} --commsched-schedule=memory-budget=7MiB %{says} MIB
// RUN: %{run} --commsched-pipeline=memory-budget=7MiB %{says} MIB
// RUN: %{run} --commsched-inductor-pipeline=memory-budget=7MiB %{says} MIB
// MIB: BudgetExceeded {{.*}} BudgetBytes=7340032,

commsched.group @g size(2)

func.func @step(%x: tensor<9000000000000xi8>) -> tensor<9000000000000xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<9000000000000xi8> -> !commsched.future<tensor<9000000000000xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<9000000000000xi8>>
  return %w : tensor<9000000000000xi8>
}
