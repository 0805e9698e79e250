// Without a number of chunks, the price decides what commsched-split splits.

// RUN: split-file %s %t && cp %S/Inputs/program.mlir %t
// DEFINE: %{options} =
// DEFINE: %{file} = program
// DEFINE: %{run} = commsched-opt %t/%{file}.mlir -o %t/split.mlir \
// DEFINE:   --commsched-split="%{options}" %remarks 2>&1 | FileCheck %s --check-prefix

// The decision is that of commsched-schedule, and a second run changes nothing.
// RUN: %{run} SPLIT --implicit-check-not=CollectiveNotSplit
// RUN: commsched-opt %t/program.mlir --commsched-schedule -o - \
// RUN:   | grep -o "count = [0-9]*.*of = \"[a-z]*\"" | sort > %t/scheduled
// RUN: grep -o "count = [0-9]*.*of = \"[a-z]*\"" %t/split.mlir | sort | diff %t/scheduled -
// RUN: commsched-opt %t/split.mlir --commsched-split -o - | diff %t/split.mlir -
// SPLIT: CollectiveSplit | {{.*}}Chunks=8, RegionNsAfter={{.*}}commsched.all_gather 'gather': split into 8 chunks together with 1 operation
// SPLIT: CollectiveSplit | {{.*}}commsched.reduce_scatter 'scatter': split into 8 chunks together with 1 operation

// REDEFINE: %{options} = max-chunks=3
// RUN: %{run} FEW
// FEW: CollectiveSplit | {{.*}}Chunks=2,

// REDEFINE: %{options} = extent=widest
// RUN: %{run} WIDEST
// WIDEST: 'gather': split into {{[0-9]}} chunks together with 3 operations
// WIDEST: 'scatter': split into {{[0-9]}} chunks together with 3 operations

// The baseline of budgets is the peak of the program as it was.
// RUN: FileCheck %s --check-prefix=BASELINE --input-file=%t/split.mlir
// BASELINE: func.func @step{{.*}}commsched.baseline_peak_bytes = 1308622848

// With a number of chunks, the first region counts, whatever the price. The
// place at which it ends has a remark, too.
// REDEFINE: %{options} = chunks=2
// RUN: %{run} FORCED
// FORCED: 'gather': split into 2 chunks {{.*}}; silu ([[PLACE:.*:[0-9]+:[0-9]+]]) is beyond the nearest large computation
// FORCED: SplitEnd | {{.*}}splitting commsched.all_gather 'gather' ({{.*}}) ends here: silu ([[PLACE]]) is beyond the nearest
// REDEFINE: %{file} = adjacent
// RUN: %{run} ADJACENT
// ADJACENT: 'gather': split into 2 chunks {{.*}}; mm 'down' ({{.*}}) divides with commsched.reduce_scatter 'scatter' ({{.*}}:7:
// REDEFINE: %{file} = program

// Sums are divided only where they may differ in bits.
// REDEFINE: %{options} =
// REDEFINE: %{file} = sum
// RUN: %{run} EXACT --implicit-check-not=CollectiveSplit
// RUN: not grep -q chunk %t/split.mlir
// REDEFINE: %{options} = bitwise=false
// RUN: %{run} SUMS
// EXACT: CollectiveNotSplit | {{.*}}'gather': not split: aten.mm 'up' adds up over dimension 0
// EXACT: SplitEnd | {{.*}}splitting commsched.all_gather 'gather' ({{.*}}) ends here: aten.mm 'up' adds up
// SUMS: CollectiveSplit | {{.*}}commsched.all_gather 'gather': split into

//--- adjacent.mlir
commsched.group @tp size(8) ranks_per_node(8)
func.func @step(%x: tensor<4096x8192xbf16>, %v: tensor<8192x7168xbf16>, %w: tensor<7168x8192xbf16>) -> tensor<4096x8192xbf16> {
  %0 = commsched.all_gather %x on @tp dim(0) {commsched.name = "gather"} : tensor<4096x8192xbf16> -> !commsched.future<tensor<32768x8192xbf16>>
  %1 = commsched.wait %0 : !commsched.future<tensor<32768x8192xbf16>>
  %2 = commsched.compute "mm"(%1, %v) {commsched.name = "up", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<32768x7168xbf16>
  %3 = commsched.compute "mm"(%2, %w) {commsched.name = "down", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x7168xbf16>, tensor<7168x8192xbf16>) -> tensor<32768x8192xbf16>
  %4 = commsched.reduce_scatter %3 on @tp reduction(sum) dim(0) {commsched.name = "scatter"} : tensor<32768x8192xbf16> -> !commsched.future<tensor<4096x8192xbf16>>
  %5 = commsched.wait %4 : !commsched.future<tensor<4096x8192xbf16>>
  return %5 : tensor<4096x8192xbf16>
}

//--- sum.mlir
commsched.group @tp size(8) ranks_per_node(8)
func.func @step(%x: tensor<4096x8192xbf16>, %v: tensor<32768x7168xbf16>) -> tensor<8192x7168xbf16> {
  %0 = commsched.all_gather %x on @tp dim(0) {commsched.name = "gather"} : tensor<4096x8192xbf16> -> !commsched.future<tensor<32768x8192xbf16>>
  %1 = commsched.wait %0 : !commsched.future<tensor<32768x8192xbf16>>
  %2 = commsched.compute "aten.mm"(%1, %v) {commsched.name = "up", flops = 3.848e12, split = "k _, k n -> _ n"} : (tensor<32768x8192xbf16>, tensor<32768x7168xbf16>) -> tensor<8192x7168xbf16>
  return %2 : tensor<8192x7168xbf16>
}
