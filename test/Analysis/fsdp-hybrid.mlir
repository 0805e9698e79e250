// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-annotate-fsdp --allow-unregistered-dialect %remarks 2>%t.remarks \
// RUN:   | grep "fsdp = " | not grep -vE 'commsched.fsdp = ("[a-z_]+").* test.fsdp = \1'
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Hybrid sharding: gradients are scattered over the shards and then reduced
// over the replicas.

!part = tensor<4xf32>
!whole = tensor<16xf32>
!future = !commsched.future<!part>
commsched.group @shard size(4)
commsched.group @replicate size(2) stride(4)

// REMARK-LABEL: Function=hybrid
// REMARK-SAME: GradientReduces=1, GradientScatters=1, ParameterGathers=0
// REMARK-SAME: 0 parameter gather(s), 1 gradient scatter(s), 1 gradient reduce(s)
func.func @hybrid(%a: !whole) -> tensor<2x2xf32> {
  $run(%w = reduce_scatter %a on @shard reduction(avg) dim(0) {test.fsdp = "gradient_scatter"} : !whole -> !part)
  %half = commsched.compute "aten.div.Scalar"(%w) : (!part) -> !part
  $run(%w1 = all_reduce %half on @replicate reduction(sum) {test.fsdp = "gradient_reduce"} : !part -> !part)
  %view = commsched.compute "aten.view"(%w1) {alias = 0 : i64} : (!part) -> tensor<2x2xf32>
  return %view : tensor<2x2xf32>
}

func.func @in_place(%a: !whole) -> !part {
  $run(%w = reduce_scatter %a on @shard reduction(avg) dim(0) {test.fsdp = "gradient_scatter"} : !whole -> !part)
  $run(%w1 = all_reduce %w on @replicate reduction(sum) into %w {test.fsdp = "gradient_reduce"} : !part into !part -> !part)
  return %w1 : !part
}

// Each operand of one launch goes its own way. Of "mixed" the first is returned
// and the second is added up, so that "c" is a scatter of gradients, but the
// launch is no reduction of gradients.
func.func @coalesced(%a: !whole, %old: !part) -> (!part, !part, !part, !part) {
  $run(%w0 = reduce_scatter %a on @shard reduction(avg) dim(0) {commsched.name = "a", test.fsdp = "gradient_scatter"} : !whole -> !part)
  $run(%w1 = reduce_scatter %a on @shard reduction(avg) dim(0) {commsched.name = "b", test.fsdp = "gradient_scatter"} : !whole -> !part)
  %r0 = commsched.all_reduce %w0, %w1 on @replicate reduction(sum)
      {commsched.name = "both", test.fsdp = "gradient_reduce"} : !part, !part
      -> !commsched.future<!part, !part>
  %d0:2 = commsched.wait %r0 : !commsched.future<!part, !part>

  $run(%w2 = reduce_scatter %a on @shard reduction(avg) dim(0) {commsched.name = "c", test.fsdp = "gradient_scatter"} : !whole -> !part)
  $run(%w3 = reduce_scatter %a on @shard reduction(avg) dim(0) {commsched.name = "d"} : !whole -> !part)
  %r1 = commsched.all_reduce %w2, %w3 on @replicate reduction(sum)
      {commsched.name = "mixed"} : !part, !part
      -> !commsched.future<!part, !part>
  %d1:2 = commsched.wait %r1 : !commsched.future<!part, !part>
  %sum = commsched.compute "aten.add"(%d1#1, %old) : (!part, !part) -> !part
  return %d0#0, %d0#1, %d1#0, %sum : !part, !part, !part, !part
}

// A reduction of anything else is none of gradients: data parallelism without
// shards, the loss, a scatter that is also used otherwise.
// REMARK-LABEL: Function=others
func.func @others(%p: !part {commsched.role = "parameter"}, %a: !whole)
    -> (!whole, !part, !part, !whole) {
  $run(%w = all_gather %p on @shard dim(0) {test.fsdp = "parameter_gather"} : !part -> !whole)
  $run(%w0 = all_reduce %a on @shard reduction(avg) {commsched.name = "replicated"} : !whole -> !whole)
  // REMARK: 'replicated': reduces what no gradient scatter gives

  $run(%w1 = reduce_scatter %a on @shard reduction(avg) dim(0) {commsched.name = "used_otherwise"} : !whole -> !part)
  $run(%w2 = all_reduce %w1 on @shard reduction(avg) {commsched.name = "reduced"} : !part -> !part)
  %sum = commsched.compute "aten.add"(%p, %w1) : (!part, !part) -> !part
  // REMARK: 'used_otherwise': what it scatters goes to aten.add
  // REMARK: 'reduced': reduces what no gradient scatter gives

  $run(%w3 = all_to_all %a on @shard split_dim(0) concat_dim(0) {commsched.name = "exchange"} : !whole -> !whole)
  // REMARK: 'exchange': all_to_all neither gathers parameters nor reduces gradients

  // Into what is scattered, but of something else.
  $run(%w4 = reduce_scatter %a on @shard reduction(avg) dim(0) {commsched.name = "overwritten"} : !whole -> !part)
  $run(%w5 = all_reduce %p on @shard reduction(sum) into %w4 {commsched.name = "over"} : !part into !part -> !part)
  // REMARK: 'overwritten': what it scatters goes to commsched.all_reduce 'over'
  // REMARK: 'over': reduces what no gradient scatter gives
  // REMARK-NOT: NotFsdp
  return %w0, %w2, %w5, %w3 : !whole, !part, !part, !whole
}
