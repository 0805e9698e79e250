// DEFINE: %{mode} =
// DEFINE: %{merge} = commsched-opt %t.mlir --commsched-bucket-all-gather=mode=%{mode} \
// DEFINE:   --commsched-bucket-reduce-scatter=mode=%{mode} \
// DEFINE:   --commsched-bucket-all-reduce=mode=%{mode}

// Collectives of one rank are not merged: they cost nothing, and
// canonicalization still folds them then.
// RUN: cp %s %t.mlir
// REDEFINE: %{mode} = copy
// RUN: %{merge} > %t.copied
// RUN: FileCheck %s --check-prefixes=CHECK,ALONE < %t.copied
// REDEFINE: %{mode} = coalesced
// RUN: %{merge} > %t.coalesced
// RUN: FileCheck %s --check-prefixes=CHECK,ALONE < %t.coalesced
// RUN: commsched-opt %s --canonicalize > %t.mlir
// RUN: FileCheck %s --check-prefixes=CHECK,FOLDED < %t.mlir
// RUN: commsched-opt %t.copied --canonicalize | diff %t.mlir -
// RUN: commsched-opt %t.coalesced --canonicalize | diff %t.mlir -

// After that, nothing is left to do.
// RUN: %{merge} | diff %t.mlir -

// RUN: commsched-opt %s --commsched-bucket-all-gather -o /dev/null \
// RUN:   --remark-policy=all --remark-format=emitRemark --remarks-filter=commsched \
// RUN:   2>&1 | FileCheck %s --check-prefix=REMARK

!x = tensor<4xf32>

commsched.group @one size(1)

// REMARK: CollectiveAlone
// REMARK-SAME: stays alone: its group has one rank
// CHECK-LABEL: func.func @two_of_each(
// CHECK-SAME: %[[A:.+]]: tensor<4xf32>, %[[B:.+]]: tensor<4xf32>)
// ALONE-COUNT-2: commsched.all_gather %
// ALONE-COUNT-2: commsched.reduce_scatter %
// ALONE-COUNT-2: commsched.all_reduce %
// FOLDED-NEXT: return %[[A]], %[[B]], %[[A]], %[[B]], %[[A]], %[[B]]
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
