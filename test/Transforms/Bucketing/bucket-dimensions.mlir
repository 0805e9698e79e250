// DEFINE: %{mode} =
// DEFINE: %{merge} = commsched-opt %s --commsched-bucket-all-gather=mode=%{mode} \
// DEFINE:   --commsched-bucket-reduce-scatter=mode=%{mode}

// REDEFINE: %{mode} = copy
// RUN: %{merge} | FileCheck %s
// REDEFINE: %{mode} = coalesced
// RUN: %{merge} | FileCheck %s --check-prefix=COALESCED

// Buffers hold what is gathered along any dimension, and what is scattered along
// dimension 0 or behind others of size 1. One launch has one dimension.

!rows = tensor<2x4xf32>
!columns = tensor<4x2xf32>
!batch = tensor<1x2x4xf32>
!square = tensor<4x4xf32>
!squares = tensor<1x4x4xf32>

commsched.group @g size(2)

// CHECK-LABEL: func.func @all_gathers(
// CHECK-NEXT: commsched.all_gather_copy_in %arg0, %arg1, %arg2 on @g
// CHECK-NEXT: commsched.all_gather {{.*}} dim(0) into
// CHECK-NOT: commsched.all_gather
// COALESCED-LABEL: func.func @all_gathers(
// COALESCED: commsched.all_gather %arg0 on @g dim(0)
// COALESCED: commsched.all_gather %arg1, %arg2 on @g dim(1)
func.func @all_gathers(%a: !rows, %b: !columns, %c: !batch) -> (!square, !square, !squares) {
  %f1 = commsched.all_gather %a on @g dim(0) : !rows -> !commsched.future<!square>
  %f2 = commsched.all_gather %b on @g dim(1) : !columns -> !commsched.future<!square>
  %f3 = commsched.all_gather %c on @g dim(1) : !batch -> !commsched.future<!squares>
  %w1 = commsched.wait %f1 : !commsched.future<!square>
  %w2 = commsched.wait %f2 : !commsched.future<!square>
  %w3 = commsched.wait %f3 : !commsched.future<!squares>
  return %w1, %w2, %w3 : !square, !square, !squares
}

// CHECK-LABEL: func.func @reduce_scatters(
// CHECK: %[[C:.+]] = tensor.collapse_shape %arg2
// CHECK-NEXT: commsched.chunk_cat %arg0, %[[C]] on @g
// CHECK-NEXT: commsched.reduce_scatter {{.*}} dim(0)
// CHECK: commsched.reduce_scatter %arg1 on @g reduction(sum) dim(1)
// CHECK-NOT: commsched.reduce_scatter
// CHECK: return
// COALESCED-LABEL: func.func @reduce_scatters(
// COALESCED: commsched.reduce_scatter %arg0 on @g reduction(sum) dim(0)
// COALESCED: commsched.reduce_scatter %arg1, %arg2 on @g reduction(sum) dim(1)
func.func @reduce_scatters(%a: !square, %b: !square, %c: !squares) -> (!rows, !columns, !batch) {
  %f1 = commsched.reduce_scatter %a on @g reduction(sum) dim(0) : !square -> !commsched.future<!rows>
  %f2 = commsched.reduce_scatter %b on @g reduction(sum) dim(1) : !square -> !commsched.future<!columns>
  %f3 = commsched.reduce_scatter %c on @g reduction(sum) dim(1) : !squares -> !commsched.future<!batch>
  %w1 = commsched.wait %f1 : !commsched.future<!rows>
  %w2 = commsched.wait %f2 : !commsched.future<!columns>
  %w3 = commsched.wait %f3 : !commsched.future<!batch>
  return %w1, %w2, %w3 : !rows, !columns, !batch
}
