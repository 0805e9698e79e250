// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather \
// RUN:   --commsched-bucket-reduce-scatter --commsched-bucket-all-reduce | FileCheck %s
// RUN: %rows %s | commsched-opt --commsched-inductor-pipeline="passes=simple_overlap \
// RUN:   bucket_all_gathers_fx=all bucket_reduce_scatters_fx=all \
// RUN:   bucket_all_reduces_fx=all" | FileCheck %s

// Two members of 1000 MiB fit exactly into a bucket of the default size; with
// one element more they do not.

!part = tensor<131072000xf32>
!whole = tensor<262144000xf32>
!more = tensor<131072001xf32>
!whole_more = tensor<262144002xf32>

commsched.group @g size(2)

// CHECK-LABEL: func.func @fits(
// CHECK-COUNT-3: commsched.{{all_gather|reduce_scatter|all_reduce}} %
// CHECK-NOT: commsched.{{all_gather|reduce_scatter|all_reduce}} %
// CHECK: return
func.func @fits(%a: !part, %b: !whole) {
  $run(%f1 = all_gather %a on @g dim(0) : !part -> !whole)
  $run(%f2 = all_gather %a on @g dim(0) : !part -> !whole)
  $run(%f3 = reduce_scatter %b on @g reduction(sum) dim(0) : !whole -> !part)
  $run(%f4 = reduce_scatter %b on @g reduction(sum) dim(0) : !whole -> !part)
  $run(%f5 = all_reduce %b on @g reduction(sum) : !whole -> !whole)
  $run(%f6 = all_reduce %b on @g reduction(sum) : !whole -> !whole)
  return
}

// CHECK-LABEL: func.func @does_not_fit(
// CHECK-COUNT-6: commsched.{{all_gather|reduce_scatter|all_reduce}} %
func.func @does_not_fit(%a: !part, %b: !whole, %c: !more, %d: !whole_more) {
  $run(%f1 = all_gather %a on @g dim(0) : !part -> !whole)
  $run(%f2 = all_gather %c on @g dim(0) : !more -> !whole_more)
  $run(%f3 = reduce_scatter %b on @g reduction(sum) dim(0) : !whole -> !part)
  $run(%f4 = reduce_scatter %d on @g reduction(sum) dim(0) : !whole_more -> !more)
  $run(%f5 = all_reduce %b on @g reduction(sum) : !whole -> !whole)
  $run(%f6 = all_reduce %d on @g reduction(sum) : !whole_more -> !whole_more)
  return
}
