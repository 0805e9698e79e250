// DEFINE: %{mode} =
// DEFINE: %{merge} = %rows %s | commsched-opt --commsched-bucket-all-gather=mode=%{mode} \
// DEFINE:   --commsched-bucket-reduce-scatter=mode=%{mode} \
// DEFINE:   --commsched-bucket-all-reduce=mode=%{mode}

// Collectives of one rank are not merged: they cost nothing, and
// canonicalization still folds them then.
// REDEFINE: %{mode} = copy
// RUN: %{merge} | FileCheck %s
// REDEFINE: %{mode} = coalesced
// RUN: %{merge} %remarks 2>&1 | FileCheck %s --check-prefixes=REMARK,CHECK

!x = tensor<4xf32>

commsched.group @one size(1)

// REMARK: CollectiveAlone {{.*}} stays alone: its group has one rank
// CHECK-LABEL: func.func @two_of_each(
// CHECK-COUNT-2: commsched.all_gather %
// CHECK-COUNT-2: commsched.reduce_scatter %
// CHECK-COUNT-2: commsched.all_reduce %
func.func @two_of_each(%a: !x, %b: !x) -> (!x, !x, !x, !x, !x, !x) {
  $run(%w0 = all_gather %a on @one dim(0) : !x -> !x)
  $run(%w1 = all_gather %b on @one dim(0) : !x -> !x)
  $run(%w2 = reduce_scatter %a on @one reduction(sum) dim(0) : !x -> !x)
  $run(%w3 = reduce_scatter %b on @one reduction(sum) dim(0) : !x -> !x)
  $run(%w4 = all_reduce %a on @one reduction(sum) : !x -> !x)
  $run(%w5 = all_reduce %b on @one reduction(sum) : !x -> !x)
  return %w0, %w1, %w2, %w3, %w4, %w5 : !x, !x, !x, !x, !x, !x
}
