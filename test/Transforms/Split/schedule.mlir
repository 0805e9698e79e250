// RUN: split-file %s %t && cp %S/Inputs/program.mlir %t
// DEFINE: %{options} =
// DEFINE: %{file} = program
// DEFINE: %{run} = commsched-opt %t/%{file}.mlir -o %t/scheduled.mlir \
// DEFINE:   --commsched-schedule="%{options}" %remarks 2>&1 | FileCheck %s --check-prefix

// A gather, two products and a scatter are divided, because that makes the step
// shorter. The remark says what the report says of the result, and a second run
// changes nothing.
// REDEFINE: %{options} = memory-budget=100%%
// RUN: %{run} SPLIT
// RUN: FileCheck %s --check-prefix=IR --input-file=%t/scheduled.mlir
// RUN: commsched-opt %t/program.mlir --remarks-filter=commsched \
// RUN:   --commsched-schedule=memory-budget=100%% -o /dev/null 2>&1 \
// RUN:   | grep -o "PeakBytesAfter=[0-9]*\|StepNsAfter=[0-9]*" \
// RUN:   | sed "s/.*=//" | sort > %t/predicted
// RUN: commsched-opt %t/scheduled.mlir --commsched-report=format=json -o /dev/null \
// RUN:   | grep -oE "\"(step_time_ns|peak_memory_bytes)\":[0-9]*" \
// RUN:   | sed "s/.*://" | sort | diff %t/predicted -
// RUN: commsched-opt %t/scheduled.mlir -o - \
// RUN:   --commsched-schedule=memory-budget=100%% | diff %t/scheduled.mlir -

// What the options exclude.
// REDEFINE: %{options} = memory-budget=100%% max-chunks=2
// RUN: %{run} TWO
// REDEFINE: %{options} = memory-budget=100%% split=off
// RUN: %{run} OFF --implicit-check-not=CollectiveSplit --implicit-check-not=CollectiveNotSplit
// RUN: not grep -q chunk %t/scheduled.mlir

// What cannot be divided, and what does not pay.
// REDEFINE: %{options} = memory-budget=100%% bitwise
// REDEFINE: %{file} = refused
// RUN: %{run} REFUSED --implicit-check-not=CollectiveSplit

// SPLIT: BlockScheduled
// SPLIT: CollectiveSplit | Category:commsched | Function=step | Chunks=[[N:[0-9]]],
// SPLIT-SAME: commsched.all_gather 'gather': split into [[N]] chunks together with 1 operation of computation, {{[1-9]}} of them large; alone they take {{[0-9]+}} ns instead of
// SPLIT: CollectiveSplit | {{.*}}commsched.reduce_scatter 'scatter': split into [[N]] chunks
// IR: commsched.all_gather {{.*}}commsched.name = "gather.chunk0"
// IR: commsched.reduce_scatter {{.*}}commsched.name = "scatter.chunk0"
// TWO: CollectiveSplit | {{.*}}Chunks=2,
// OFF: BlockKept
// OFF: CollectiveExposed | {{.*}}nothing left to hide it: {{.*}}; to change that: none by scheduling; reduce bytes (wider sharding, lower precision) or add independent computation; it may be split, but the option 'split' is off

//--- refused.mlir
commsched.group @tp size(8) ranks_per_node(8)
commsched.group @pair size(2)

// REFUSED-DAG: CollectiveNotSplit | {{.*}}Function=effect {{.*}}commsched.all_gather: not split: effect has no rule for splitting
func.func @effect(%x: tensor<1024x4096xbf16>, %v: tensor<4096x7168xbf16>) -> tensor<8192x7168xbf16> {
  %0 = commsched.all_gather %x on @tp dim(0) : tensor<1024x4096xbf16> -> !commsched.future<tensor<8192x4096xbf16>>
  %1 = commsched.wait %0 : !commsched.future<tensor<8192x4096xbf16>>
  %2 = commsched.compute "effect"(%1, %v) {flops = 4.810e11} : (tensor<8192x4096xbf16>, tensor<4096x7168xbf16>) -> tensor<8192x7168xbf16>
  return %2 : tensor<8192x7168xbf16>
}

// REFUSED-DAG: CollectiveNotSplit | {{.*}}Function=small {{.*}}commsched.all_gather: not split: {{products of [0-9]+ rows run at [0-9]+ %|what is launched and copied for 2 chunks}}
func.func @small(%x: tensor<128x512xbf16>, %v: tensor<512x1024xbf16>) -> tensor<1024x1024xbf16> {
  %0 = commsched.all_gather %x on @tp dim(0) : tensor<128x512xbf16> -> !commsched.future<tensor<1024x512xbf16>>
  %1 = commsched.wait %0 : !commsched.future<tensor<1024x512xbf16>>
  %2 = commsched.compute "mm"(%1, %v) {flops = 1.074e09, split = "m k, _ n -> m n"} : (tensor<1024x512xbf16>, tensor<512x1024xbf16>) -> tensor<1024x1024xbf16>
  return %2 : tensor<1024x1024xbf16>
}

// REFUSED-DAG: CollectiveNotSplit | {{.*}}Function=sums {{.*}}commsched.all_reduce: not split: the elements of commsched.all_reduce would be at other places of a message, which the option 'bitwise' excludes
func.func @sums(%x: tensor<8192x4096xbf16>, %v: tensor<4096x7168xbf16>, %u: tensor<7168x4096xbf16>) -> tensor<8192x4096xbf16> {
  %0 = commsched.compute "mm"(%x, %v) {flops = 4.810e11, split = "m k, _ n -> m n"} : (tensor<8192x4096xbf16>, tensor<4096x7168xbf16>) -> tensor<8192x7168xbf16>
  %1 = commsched.all_reduce %0 on @tp reduction(sum) : tensor<8192x7168xbf16> -> !commsched.future<tensor<8192x7168xbf16>>
  %2 = commsched.wait %1 : !commsched.future<tensor<8192x7168xbf16>>
  %3 = commsched.compute "mm"(%2, %u) {flops = 4.810e11, split = "m k, _ n -> m n"} : (tensor<8192x7168xbf16>, tensor<7168x4096xbf16>) -> tensor<8192x4096xbf16>
  return %3 : tensor<8192x4096xbf16>
}

// Two ranks add the same in either order.
// REFUSED-DAG: CollectiveSplit | {{.*}}Function=pair_sums
func.func @pair_sums(%x: tensor<8192x4096xbf16>, %v: tensor<4096x7168xbf16>, %u: tensor<7168x4096xbf16>) -> tensor<8192x4096xbf16> {
  %0 = commsched.compute "mm"(%x, %v) {flops = 4.810e11, split = "m k, _ n -> m n"} : (tensor<8192x4096xbf16>, tensor<4096x7168xbf16>) -> tensor<8192x7168xbf16>
  %1 = commsched.all_reduce %0 on @pair reduction(sum) : tensor<8192x7168xbf16> -> !commsched.future<tensor<8192x7168xbf16>>
  %2 = commsched.wait %1 : !commsched.future<tensor<8192x7168xbf16>>
  %3 = commsched.compute "mm"(%2, %u) {flops = 4.810e11, split = "m k, _ n -> m n"} : (tensor<8192x7168xbf16>, tensor<7168x4096xbf16>) -> tensor<8192x4096xbf16>
  return %3 : tensor<8192x4096xbf16>
}
