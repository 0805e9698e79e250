// DEFINE: %{budget} =
// DEFINE: %{pass} = --commsched-reorder-comms-preserving-peak-memory=memory-budget=%{budget}
// DEFINE: %{run} = commsched-opt %s %{pass} --remark-policy=all \
// DEFINE:   --remark-format=emitRemark --remarks-filter=commsched \
// DEFINE:   -o /dev/null 2>&1 | FileCheck %s --check-prefix

// Passes and pipelines read the texts of budgets alike: a program that is over it
// says how many bytes it is. unittests/CAPI has all units and errors.

// REDEFINE: %{budget} = 7
// RUN: %{run} NONE
// NONE: BudgetExceeded {{.*}} BudgetBytes=7,
// REDEFINE: %{budget} = 7MiB
// RUN: %{run} MIB
// MIB: BudgetExceeded {{.*}} BudgetBytes=7340032,
// REDEFINE: %{pass} = --commsched-sink-waits-iterative=memory-budget=%{budget}
// RUN: %{run} MIB
// REDEFINE: %{pass} = --commsched-schedule=memory-budget=%{budget}
// RUN: %{run} MIB
// REDEFINE: %{pass} = --commsched-pipeline=memory-budget=%{budget}
// RUN: %{run} MIB
// REDEFINE: %{pass} = --commsched-inductor-pipeline=memory-budget=%{budget}
// RUN: %{run} MIB

commsched.group @g size(2)

func.func @step(%x: tensor<9000000000000xi8>)
    -> tensor<9000000000000xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      : tensor<9000000000000xi8> -> !commsched.future<tensor<9000000000000xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<9000000000000xi8>>
  return %w : tensor<9000000000000xi8>
}
