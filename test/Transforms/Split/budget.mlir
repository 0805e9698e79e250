// Splitting within a budget.
// RUN: split-file %s %t && cp %S/Inputs/program.mlir %t
// DEFINE: %{options} =
// DEFINE: %{file} = needs-whole
// DEFINE: %{run} = commsched-opt %t/%{file}.mlir -o /dev/null \
// DEFINE:   --commsched-schedule="%{options}" %remarks 2>&1 | FileCheck %s --check-prefix

// In chunks, 'large' is there twice where the program needs most anyway: it is
// left in one piece, and 'small' is not.
// REDEFINE: %{options} = memory-budget=0%%
// RUN: %{run} SHORT --implicit-check-not=BudgetExceeded
// SHORT: BlockScheduled | {{.*}}BudgetBytes=[[BUDGET:[0-9]+]],
// SHORT: CollectiveSplit | {{.*}}commsched.all_gather 'small': split into
// SHORT-NOT: CollectiveSplit
// SHORT: CollectiveNotSplit | {{.*}}'large': not split: splitting the nearest regions would make a step of {{[0-9]+}} ns and 18{{[0-9]+}} bytes, {{.*}} for a budget of [[BUDGET]]
// REDEFINE: %{options} = memory-budget=50%%
// RUN: %{run} AMPLE
// AMPLE: CollectiveSplit | {{.*}}commsched.all_gather 'small': split into
// AMPLE: CollectiveSplit | {{.*}}commsched.all_gather 'large': split into

// A program that exceeds the budget in one piece, and not in chunks.
// REDEFINE: %{options} = memory-budget=1250000000
// REDEFINE: %{file} = program
// RUN: %{run} FITS --implicit-check-not=BudgetExceeded
// REDEFINE: %{options} = memory-budget=1250000000 split=off
// RUN: %{run} EXCEEDS
// FITS: CollectiveSplit
// EXCEEDS: BudgetExceeded

//--- needs-whole.mlir
commsched.group @tp size(8) ranks_per_node(8)
func.func @step(%x: tensor<4096x8192xbf16>, %v: tensor<8192x7168xbf16>,
                %y: tensor<2048x8192xbf16>, %w: tensor<8192x7168xbf16>) -> tensor<8192xbf16> {
  %0 = commsched.all_gather %y on @tp dim(0) {commsched.name = "small"} : tensor<2048x8192xbf16> -> !commsched.future<tensor<16384x8192xbf16>>
  %1 = commsched.wait %0 : !commsched.future<tensor<16384x8192xbf16>>
  %2 = commsched.compute "mm"(%1, %w) {commsched.name = "first", flops = 1.924e12, split = "m k, k n -> m n"} : (tensor<16384x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<16384x7168xbf16>
  %3 = commsched.compute "mean"(%2) {commsched.name = "mean"} : (tensor<16384x7168xbf16>) -> tensor<8192xbf16>
  %4 = commsched.compute "add"(%x, %3) {split = "m k, k -> m k"} : (tensor<4096x8192xbf16>, tensor<8192xbf16>) -> tensor<4096x8192xbf16>
  %5 = commsched.all_gather %4 on @tp dim(0) {commsched.name = "large"} : tensor<4096x8192xbf16> -> !commsched.future<tensor<32768x8192xbf16>>
  %6 = commsched.wait %5 : !commsched.future<tensor<32768x8192xbf16>>
  %7 = commsched.compute "mm"(%6, %v) {commsched.name = "second", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<32768x7168xbf16>
  %8 = commsched.compute "dot"(%6, %7) {commsched.name = "dot"} : (tensor<32768x8192xbf16>, tensor<32768x7168xbf16>) -> tensor<8192xbf16>
  return %8 : tensor<8192xbf16>
}
