// DEFINE: %{plan} =
// DEFINE: %{merge} = %rows %s | commsched-opt %remarks --commsched-bucket-all-gather="plan='%{plan}'" \
// DEFINE:   --commsched-bucket-reduce-scatter="plan='%{plan}'" 2>%t.remarks

// Each entry of a plan is a bucket. Gathers start one bucket ahead, and what is
// reduced is waited for one bucket later.
// REDEFINE: %{plan} = module_1;module_2.first,module_2.second
// RUN: %{merge} | %orders | FileCheck %s --check-prefix=TWO
// RUN: FileCheck %s --check-prefix=ALL-USED < %t.remarks

// A path stands for all modules below it, or for all that a pattern matches.
// REDEFINE: %{plan} =  module_1 ; module_2
// RUN: %{merge} | %orders | FileCheck %s --check-prefix=TWO
// REDEFINE: %{plan} = *_1;module_[2-4].?*
// RUN: %{merge} | %orders | FileCheck %s --check-prefix=TWO

// All in one entry are one bucket, in the order of the program.
// REDEFINE: %{plan} = module_2,module_1
// RUN: %{merge} | %orders | FileCheck %s --check-prefix=ONE

// What no entry names stays where it is, and so does what is alone in one. Of
// an entry, only the paths that there are count.
// REDEFINE: %{plan} = module_3;module_2,module_4
// RUN: %{merge} | %orders | FileCheck %s --check-prefix=SECOND
// RUN: FileCheck %s --check-prefixes=FIRST-UNUSED < %t.remarks
// REDEFINE: %{plan} = module_2.first;module;module_22;MODULE_1
// RUN: %{merge} | %orders | FileCheck %s --check-prefix=NONE

// An empty plan is none.
// REDEFINE: %{plan} =
// RUN: %{merge} | FileCheck %s --check-prefix=NO-PLAN

// ALL-USED-NOT: PlanEntryUnused
// FIRST-UNUSED-COUNT-2: PlanEntryUnused | Category:commsched | Function={{gathers|scatters}} | Remark="entry 0 of the plan, 'module_3', names no collective"
// FIRST-UNUSED-NOT: PlanEntryUnused

commsched.group @g size(2)

!shard = tensor<4xf32>
!whole = tensor<8xf32>

// TWO-LABEL: func.func @gathers(
// TWO-NEXT: // order: ag1+ag2.copy_in ag1+ag2 ag3+ag4.copy_in ag3+ag4 wait ag1+ag2.copy_out mm1 wait ag3+ag4.copy_out mm2{{$}}
// ONE-LABEL: func.func @gathers(
// ONE-NEXT: // order: ag1+ag2+ag3+ag4.copy_in ag1+ag2+ag3+ag4 wait ag1+ag2+ag3+ag4.copy_out mm1 mm2{{$}}
// SECOND-LABEL: func.func @gathers(
// SECOND-NEXT: // order: ag1 wait ag2 wait mm1 ag3+ag4.copy_in ag3+ag4 wait ag3+ag4.copy_out mm2{{$}}
// NONE-LABEL: func.func @gathers(
// NONE-NEXT: // order: ag1 wait ag2 wait mm1 ag3 wait ag4 wait mm2{{$}}
// NO-PLAN-LABEL: func.func @gathers(
// NO-PLAN: "ag1+ag2+ag3+ag4"
func.func @gathers(%a: !shard, %b: !shard, %c: !shard, %d: !shard) -> (!whole, !whole) {
  $run(%w1 = all_gather %a on @g dim(0) {commsched.name = "ag1", commsched.module = "module_1"} : !shard -> !whole)
  $run(%w2 = all_gather %b on @g dim(0) {commsched.name = "ag2", commsched.module = "module_1"} : !shard -> !whole)
  %m1 = commsched.compute "mm1"(%w1, %w2) {flops = 1.0e9 : f64} : (!whole, !whole) -> !whole
  $run(%w3 = all_gather %c on @g dim(0) {commsched.name = "ag3", commsched.module = "module_2.first"} : !shard -> !whole)
  $run(%w4 = all_gather %d on @g dim(0) {commsched.name = "ag4", commsched.module = "module_2.second"} : !shard -> !whole)
  %m2 = commsched.compute "mm2"(%m1, %w3, %w4) {flops = 1.0e9 : f64} : (!whole, !whole, !whole) -> !whole
  return %m1, %m2 : !whole, !whole
}

// TWO-LABEL: func.func @scatters(
// TWO-NEXT: // order: mm1 mm2 rs1+rs2.copy_in rs1+rs2 mm3 mm4 rs3+rs4.copy_in rs3+rs4 wait tensor.extract_slice tensor.extract_slice wait tensor.extract_slice tensor.extract_slice{{$}}
func.func @scatters(%x: !whole) -> (!shard, !shard, !shard, !shard) {
  %m1 = commsched.compute "mm1"(%x) {flops = 1.0e9 : f64} : (!whole) -> !whole
  $run(%w1 = reduce_scatter %m1 on @g reduction(sum) dim(0) {commsched.name = "rs1", commsched.module = "module_1"} : !whole -> !shard)
  %m2 = commsched.compute "mm2"(%m1) {flops = 1.0e9 : f64} : (!whole) -> !whole
  $run(%w2 = reduce_scatter %m2 on @g reduction(sum) dim(0) {commsched.name = "rs2", commsched.module = "module_1"} : !whole -> !shard)
  %m3 = commsched.compute "mm3"(%m2) {flops = 1.0e9 : f64} : (!whole) -> !whole
  $run(%w3 = reduce_scatter %m3 on @g reduction(sum) dim(0) {commsched.name = "rs3", commsched.module = "module_2.first"} : !whole -> !shard)
  %m4 = commsched.compute "mm4"(%m3) {flops = 1.0e9 : f64} : (!whole) -> !whole
  $run(%w4 = reduce_scatter %m4 on @g reduction(sum) dim(0) {commsched.name = "rs4", commsched.module = "module_2.second"} : !whole -> !shard)
  return %w1, %w2, %w3, %w4 : !shard, !shard, !shard, !shard
}
