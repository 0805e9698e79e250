// RUN: split-file %s %t
// DEFINE: %{file} =
// DEFINE: %{options} =
// DEFINE: %{run} = commsched-opt %t/%{file}.mlir -o %t/scheduled.mlir \
// DEFINE:   --commsched-schedule="%{options}" %remarks 2>&1 | FileCheck %s \
// DEFINE:   --implicit-check-not=CollectiveExposed --implicit-check-not=CollectiveAlone \
// DEFINE:   --implicit-check-not=CollectivesNotMerged --check-prefix

// Why collectives are not hidden, and why they are not merged.

// REDEFINE: %{file} = exposed
// REDEFINE: %{options} = buckets=off memory-budget=0%%
// RUN: %{run} EXPOSED
// REDEFINE: %{options} = buckets=off memory-budget=159
// RUN: %{run} BUDGET
// REDEFINE: %{options} = buckets=off memory-budget=160
// RUN: %{run} ENOUGH

// REDEFINE: %{file} = merged
// REDEFINE: %{options} = memory-budget=0%%
// RUN: %{run} MERGED
// What is said of the merged program is what the report says of the result.
// RUN: commsched-opt %t/scheduled.mlir --commsched-report=format=json \
// RUN:   -o /dev/null | FileCheck %s --check-prefix=REPORT

// REDEFINE: %{file} = rejected
// RUN: %{run} REJECTED

//--- exposed.mlir
commsched.group @g size(4)
func.func @exposed(%x: tensor<20xi8>) -> tensor<80xi8> {
  %p = commsched.compute "product"(%x) {commsched.runtime_ns = 30 : i64}
      : (tensor<20xi8>) -> tensor<40xi8>
  %u = commsched.compute "use"(%p) {commsched.runtime_ns = 0 : i64}
      : (tensor<40xi8>) -> tensor<20xi8>
// EXPOSED: BlockKept
// EXPOSED: CollectiveNotSplit | {{.*}}commsched.all_gather: not split: no product or attention divides along with it
// EXPOSED: exposed.mlir:{{[0-9]+}}:8: remark: [Missed] CollectiveExposed | Category:commsched | Function=exposed | BytesShort=60, ExposedNs=50, GainNs=30, Reason=memory,
// EXPOSED-SAME: commsched.all_gather is exposed for 50 ns: budget short by 60 B, at use, for starting it before product; to change that: 60 B more, which would make the step 30 ns shorter
// BUDGET: CollectiveExposed | {{.*}} | BytesShort=1,
  %f = commsched.all_gather %x on @g dim(0) {commsched.runtime_ns = 50 : i64}
      : tensor<20xi8> -> !commsched.future<tensor<80xi8>>
// ENOUGH: BlockScheduled
// ENOUGH: CollectiveExposed | {{.*}} | ExposedNs=20, Reason=nothing-left,
// ENOUGH-SAME: nothing left to hide it: all computation has to precede it, needs it, or runs beside it; to change that: none by scheduling; reduce bytes (wider sharding, lower precision) or add independent computation; splitting it was tried: no product or attention divides along with it
  %w = commsched.wait %f : !commsched.future<tensor<80xi8>>
  return %w : tensor<80xi8>
}

// The first two gathers travel together. The third is of a parameter that was
// written with their results. The reduction is none of gradients.
//--- merged.mlir
commsched.group @g size(4)
func.func @merged(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>)
    -> (tensor<256xf32>, tensor<64xf32>) {
// MERGED: BlockScheduled
  %f1 = commsched.all_gather %a on @g dim(0) : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<256xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "second"}
      : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<256xf32>>
  commsched.compute "update"(%c, %w1, %w2)
      {mutates = array<i64: 0>, commsched.runtime_ns = 10 : i64}
      : (tensor<64xf32>, tensor<256xf32>, tensor<256xf32>) -> ()
// MERGED: merged.mlir:{{[0-9]+}}:9: remark: [Missed] CollectiveAlone |
// MERGED-SAME: commsched.all_gather 'third' stays alone: a dependence joins it to commsched.all_gather 'second'
  %f3 = commsched.all_gather %c on @g dim(0) {commsched.name = "third"}
      : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<256xf32>>
// MERGED: CollectiveAlone |
// MERGED-SAME: commsched.all_reduce 'sum' stays alone: no other collective may travel with it
// MERGED: CollectiveExposed |
// MERGED-SAME: commsched.all_gather 'second' is exposed for 20411 ns:
// MERGED: CollectiveExposed |
// MERGED: CollectiveExposed |
// REPORT: "name":"second",{{[^}]*}}"exposed_ns":20411,"limited_by":
  %f4 = commsched.all_reduce %c on @g reduction(sum) {commsched.name = "sum"}
      : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %w4 = commsched.wait %f4 : !commsched.future<tensor<64xf32>>
  return %w3, %w4 : tensor<256xf32>, tensor<64xf32>
}

// Merged, both results of gathers would live at once.
//--- rejected.mlir
commsched.group @g size(4)
// REJECTED: BlockKept
// REJECTED: CollectivesNotMerged | Category:commsched | Function=rejected |
// REJECTED-SAME: merging by {{.*}} would make a step of {{[0-9]+}} ns and {{[0-9]+}} bytes, without merging it is {{[0-9]+}} ns and {{[0-9]+}} bytes, for a budget of
// REJECTED-COUNT-2: CollectiveExposed
func.func @rejected(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<1xf32> {
  %f1 = commsched.all_gather %a on @g dim(0) : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<256xf32>>
  %s1 = commsched.compute "sum"(%w1) {commsched.runtime_ns = 10 : i64}
      : (tensor<256xf32>) -> tensor<1xf32>
  %f2 = commsched.all_gather %b on @g dim(0) : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<256xf32>>
  %s2 = commsched.compute "sum"(%w2, %s1) {commsched.runtime_ns = 10 : i64}
      : (tensor<256xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %s2 : tensor<1xf32>
}
