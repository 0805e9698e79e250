// RUN: commsched-opt %s --test-commsched-annotate-fsdp \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Hybrid sharding: gradients are scattered over the shards and then reduced
// over the replicas.

!part = tensor<4xf32>
!whole = tensor<16xf32>
!future = !commsched.future<!part>
commsched.group @shard size(4)
commsched.group @replicate size(2) stride(4)

// CHECK-LABEL: func.func @hybrid(
// CHECK: reduce_scatter {{.*}}fsdp = "gradient_scatter"
// CHECK: all_reduce {{.*}}fsdp = "gradient_reduce"
// REMARK-LABEL: Function=hybrid
// REMARK-SAME: GradientReduces=1, GradientScatters=1, ParameterGathers=0
// REMARK-SAME: 0 parameter gather(s), 1 gradient scatter(s), 1 gradient reduce(s)
func.func @hybrid(%a: !whole) -> tensor<2x2xf32> {
  %f = commsched.reduce_scatter %a on @shard reduction(avg) dim(0)
      : !whole -> !future
  %w = commsched.wait %f : !future
  %half = commsched.compute "aten.div.Scalar"(%w) : (!part) -> !part
  %f1 = commsched.all_reduce %half on @replicate reduction(sum)
      : !part -> !future
  %w1 = commsched.wait %f1 : !future
  %view = commsched.compute "aten.view"(%w1) {alias = 0 : i64}
      : (!part) -> tensor<2x2xf32>
  return %view : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @in_place(
// CHECK: reduce_scatter {{.*}}fsdp = "gradient_scatter"
// CHECK: all_reduce {{.*}}fsdp = "gradient_reduce"
func.func @in_place(%a: !whole) -> !part {
  %f = commsched.reduce_scatter %a on @shard reduction(avg) dim(0)
      : !whole -> !future
  %w = commsched.wait %f : !future
  %f1 = commsched.all_reduce %w on @replicate reduction(sum) into %w
      : !part into !part -> !future
  %w1 = commsched.wait %f1 : !future
  return %w1 : !part
}

// Each operand of one launch goes its own way. Of "mixed" the first is returned
// and the second is added up, so that "c" is a scatter of gradients, but the
// launch is no reduction of gradients.
// CHECK-LABEL: func.func @coalesced(
// CHECK: reduce_scatter {{.*}}fsdp = "gradient_scatter", commsched.name = "a"
// CHECK: reduce_scatter {{.*}}fsdp = "gradient_scatter", commsched.name = "b"
// CHECK: all_reduce {{.*}}fsdp = "gradient_reduce", commsched.name = "both"
// CHECK: reduce_scatter {{.*}}fsdp = "gradient_scatter", commsched.name = "c"
// CHECK: reduce_scatter
// CHECK-NOT: commsched.fsdp
// CHECK: return
func.func @coalesced(%a: !whole, %old: !part) -> (!part, !part, !part, !part) {
  %f0 = commsched.reduce_scatter %a on @shard reduction(avg) dim(0)
      {commsched.name = "a"} : !whole -> !future
  %w0 = commsched.wait %f0 : !future
  %f1 = commsched.reduce_scatter %a on @shard reduction(avg) dim(0)
      {commsched.name = "b"} : !whole -> !future
  %w1 = commsched.wait %f1 : !future
  %r0 = commsched.all_reduce %w0, %w1 on @replicate reduction(sum)
      {commsched.name = "both"} : !part, !part
      -> !commsched.future<!part, !part>
  %d0:2 = commsched.wait %r0 : !commsched.future<!part, !part>

  %f2 = commsched.reduce_scatter %a on @shard reduction(avg) dim(0)
      {commsched.name = "c"} : !whole -> !future
  %w2 = commsched.wait %f2 : !future
  %f3 = commsched.reduce_scatter %a on @shard reduction(avg) dim(0)
      {commsched.name = "d"} : !whole -> !future
  %w3 = commsched.wait %f3 : !future
  %r1 = commsched.all_reduce %w2, %w3 on @replicate reduction(sum)
      {commsched.name = "mixed"} : !part, !part
      -> !commsched.future<!part, !part>
  %d1:2 = commsched.wait %r1 : !commsched.future<!part, !part>
  %sum = commsched.compute "aten.add"(%d1#1, %old) : (!part, !part) -> !part
  return %d0#0, %d0#1, %d1#0, %sum : !part, !part, !part, !part
}

// A reduction of anything else is none of gradients: data parallelism without
// shards, the loss, a scatter that is also used otherwise.
// CHECK-LABEL: func.func @others(
// CHECK: all_gather
// CHECK-NOT: "gradient_
// REMARK-LABEL: Function=others
func.func @others(%p: !part {commsched.role = "parameter"}, %a: !whole)
    -> (!whole, !part, !part, !whole) {
  %f = commsched.all_gather %p on @shard dim(0)
      : !part -> !commsched.future<!whole>
  %w = commsched.wait %f : !commsched.future<!whole>
  %f0 = commsched.all_reduce %a on @shard reduction(avg)
      {commsched.name = "replicated"} : !whole -> !commsched.future<!whole>
  %w0 = commsched.wait %f0 : !commsched.future<!whole>
  // REMARK: 'replicated': reduces what no gradient scatter gives

  %f1 = commsched.reduce_scatter %a on @shard reduction(avg) dim(0)
      {commsched.name = "used_otherwise"} : !whole -> !future
  %w1 = commsched.wait %f1 : !future
  %f2 = commsched.all_reduce %w1 on @shard reduction(avg)
      {commsched.name = "reduced"} : !part -> !future
  %w2 = commsched.wait %f2 : !future
  %sum = commsched.compute "aten.add"(%p, %w1) : (!part, !part) -> !part
  // REMARK: 'used_otherwise': what it scatters goes to aten.add
  // REMARK: 'reduced': reduces what no gradient scatter gives

  %f3 = commsched.all_to_all %a on @shard split_dim(0) concat_dim(0)
      {commsched.name = "exchange"} : !whole -> !commsched.future<!whole>
  %w3 = commsched.wait %f3 : !commsched.future<!whole>
  // REMARK: 'exchange': all_to_all neither gathers parameters nor reduces gradients

  // Into what is scattered, but of something else.
  %f4 = commsched.reduce_scatter %a on @shard reduction(avg) dim(0)
      {commsched.name = "overwritten"} : !whole -> !future
  %w4 = commsched.wait %f4 : !future
  %f5 = commsched.all_reduce %p on @shard reduction(sum) into %w4
      {commsched.name = "over"} : !part into !part -> !future
  %w5 = commsched.wait %f5 : !future
  // REMARK: 'overwritten': what it scatters goes to commsched.all_reduce 'over'
  // REMARK: 'over': reduces what no gradient scatter gives
  // REMARK-NOT: NotFsdp
  return %w0, %w2, %w5, %w3 : !whole, !part, !part, !whole
}
