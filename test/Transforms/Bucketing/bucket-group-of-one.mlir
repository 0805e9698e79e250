// DEFINE: %{mode} =
// DEFINE: %{merge} = commsched-opt %s --commsched-bucket-all-gather=mode=%{mode} \
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
  %0 = commsched.all_gather %a on @one dim(0) : !x -> !commsched.future<!x>
  %1 = commsched.all_gather %b on @one dim(0) : !x -> !commsched.future<!x>
  %2 = commsched.reduce_scatter %a on @one reduction(sum) dim(0) : !x -> !commsched.future<!x>
  %3 = commsched.reduce_scatter %b on @one reduction(sum) dim(0) : !x -> !commsched.future<!x>
  %4 = commsched.all_reduce %a on @one reduction(sum) : !x -> !commsched.future<!x>
  %5 = commsched.all_reduce %b on @one reduction(sum) : !x -> !commsched.future<!x>
  %w0 = commsched.wait %0 : !commsched.future<!x>
  %w1 = commsched.wait %1 : !commsched.future<!x>
  %w2 = commsched.wait %2 : !commsched.future<!x>
  %w3 = commsched.wait %3 : !commsched.future<!x>
  %w4 = commsched.wait %4 : !commsched.future<!x>
  %w5 = commsched.wait %5 : !commsched.future<!x>
  return %w0, %w1, %w2, %w3, %w4, %w5 : !x, !x, !x, !x, !x, !x
}
