// RUN: %rows %s > %t.mlir
// DEFINE: %{options} =
// DEFINE: %{bucket} = commsched-opt %t.mlir --remarks-filter=commsched \
// DEFINE:   --commsched-bucket-all-reduce="%{options}" \
// DEFINE:   --commsched-bucket-reduce-scatter="%{options}"
// DEFINE: %{schedule} = commsched-opt %t.mlir --remarks-filter=commsched \
// DEFINE:   --commsched-schedule="memory-budget=100%% %{options}" --mlir-print-op-on-diagnostic=false

// Gloo reduces the tensors of one launch as one message, so that bitwise leaves
// its all-reduces alone, but those of two ranks, whose sums have one order. It
// launches reduce-scatters one by one.
// RUN: %{schedule} 2>&1 | FileCheck %s --check-prefixes=MERGED,COALESCED
// REDEFINE: %{options} = bitwise mode=coalesced
// RUN: %{schedule} 2>&1 | FileCheck %s --check-prefixes=BITWISE,PAIR
// RUN: %{bucket} 2>&1 | FileCheck %s --check-prefixes=BITWISE,PAIR
// REDEFINE: %{options} = bitwise mode=copy
// RUN: %{schedule} 2>&1 | FileCheck %s --check-prefixes=BITWISE,PACKED
// RUN: %{bucket} 2>&1 | FileCheck %s --check-prefixes=BITWISE,PACKED

// The modes of the schedule.
// REDEFINE: %{options} = mode=coalesced
// RUN: %{schedule} 2>&1 | FileCheck %s --check-prefixes=MERGED,COALESCED
// REDEFINE: %{options} = mode=copy
// RUN: %{schedule} 2>&1 | FileCheck %s --check-prefixes=MERGED,COPIED

commsched.group @gloo size(4) {commsched.backend = "gloo"}
commsched.group @gloo_pair size(2) {commsched.backend = "gloo"}
commsched.group @pair size(2)
commsched.group @unknown size(4)

!s = tensor<64xf32>

// BITWISE: all_reduce{{.*}} stays alone: gloo reduces all tensors of a launch as one message, in which elements have other places, and with them other roundings, which bitwise rules out
// BITWISE: all_reduce{{.*}} stays alone: gloo reduces all tensors of a launch as one message
// BITWISE-NOT: stays alone: gloo

// MERGED-LABEL: func.func @gloo_all_reduces(%arg0
// COALESCED: commsched.all_reduce %{{.+}}, %{{.+}} on @gloo
// COPIED: tensor.concat
// COPIED: commsched.all_reduce %{{.+}} on @gloo
// MERGED-NOT: commsched.all_reduce
// MERGED: return
// BITWISE-LABEL: func.func @gloo_all_reduces(%arg0
// BITWISE: commsched.all_reduce %{{[^,]+}} on @gloo
// BITWISE: commsched.all_reduce %{{[^,]+}} on @gloo
// BITWISE: return
func.func @gloo_all_reduces(%a: !s, %b: !s) -> (!s, !s) {
  $run(%v0 = all_reduce %a on @gloo reduction(sum) : !s -> tensor<64xf32>)
  $run(%v1 = all_reduce %b on @gloo reduction(sum) : !s -> tensor<64xf32>)
  return %v0, %v1 : !s, !s
}

// BITWISE-LABEL: func.func @gloo_pairs(%arg0
// PAIR: commsched.all_reduce %{{.+}}, %{{.+}} on @gloo_pair
// PACKED: tensor.concat
// PACKED: commsched.all_reduce %{{[^,]+}} on @gloo_pair
func.func @gloo_pairs(%a: !s, %b: !s) -> (!s, !s) {
  $run(%v0 = all_reduce %a on @gloo_pair reduction(sum) : !s -> tensor<64xf32>)
  $run(%v1 = all_reduce %b on @gloo_pair reduction(sum) : !s -> tensor<64xf32>)
  return %v0, %v1 : !s, !s
}

// BITWISE-LABEL: func.func @pair_scatters(%arg0
// PAIR: commsched.reduce_scatter %{{.+}}, %{{.+}} on @pair
// PACKED: commsched.chunk_cat
// PACKED: commsched.reduce_scatter %{{[^,]+}} on @pair
func.func @pair_scatters(%a: tensor<128xf32>, %b: tensor<128xf32>) -> (!s, !s) {
  $run(%v0 = reduce_scatter %a on @pair reduction(sum) dim(0) : tensor<128xf32> -> tensor<64xf32>)
  $run(%v1 = reduce_scatter %b on @pair reduction(sum) dim(0) : tensor<128xf32> -> tensor<64xf32>)
  return %v0, %v1 : !s, !s
}

// MERGED-LABEL: func.func @gloo_reduce_scatters(%arg0
// COALESCED: commsched.reduce_scatter %{{.+}}, %{{.+}} on @gloo
// COPIED: commsched.chunk_cat
// COPIED: commsched.reduce_scatter %{{.+}} on @gloo
// BITWISE-LABEL: func.func @gloo_reduce_scatters(%arg0
// BITWISE: commsched.reduce_scatter %{{.+}}, %{{.+}} on @gloo
func.func @gloo_reduce_scatters(%a: tensor<256xf32>, %b: tensor<256xf32>) -> (!s, !s) {
  $run(%v0 = reduce_scatter %a on @gloo reduction(sum) dim(0) : tensor<256xf32> -> tensor<64xf32>)
  $run(%v1 = reduce_scatter %b on @gloo reduction(sum) dim(0) : tensor<256xf32> -> tensor<64xf32>)
  return %v0, %v1 : !s, !s
}

// BITWISE-LABEL: func.func @unknown_all_reduces(%arg0
// BITWISE: commsched.all_reduce %{{.+}}, %{{.+}} on @unknown
func.func @unknown_all_reduces(%a: !s, %b: !s) -> (!s, !s) {
  $run(%v0 = all_reduce %a on @unknown reduction(sum) : !s -> tensor<64xf32>)
  $run(%v1 = all_reduce %b on @unknown reduction(sum) : !s -> tensor<64xf32>)
  return %v0, %v1 : !s, !s
}
