// RUN: commsched-opt %s --commsched-bucket-all-gather \
// RUN:   --commsched-bucket-reduce-scatter --commsched-bucket-all-reduce | FileCheck %s
// RUN: commsched-opt %s --commsched-inductor-pipeline="passes=simple_overlap \
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
  %f1 = commsched.all_gather %a on @g dim(0) : !part -> !commsched.future<!whole>
  %f2 = commsched.all_gather %a on @g dim(0) : !part -> !commsched.future<!whole>
  %f3 = commsched.reduce_scatter %b on @g reduction(sum) dim(0) : !whole -> !commsched.future<!part>
  %f4 = commsched.reduce_scatter %b on @g reduction(sum) dim(0) : !whole -> !commsched.future<!part>
  %f5 = commsched.all_reduce %b on @g reduction(sum) : !whole -> !commsched.future<!whole>
  %f6 = commsched.all_reduce %b on @g reduction(sum) : !whole -> !commsched.future<!whole>
  commsched.wait %f1 : !commsched.future<!whole>
  commsched.wait %f2 : !commsched.future<!whole>
  commsched.wait %f3 : !commsched.future<!part>
  commsched.wait %f4 : !commsched.future<!part>
  commsched.wait %f5 : !commsched.future<!whole>
  commsched.wait %f6 : !commsched.future<!whole>
  return
}

// CHECK-LABEL: func.func @does_not_fit(
// CHECK-COUNT-6: commsched.{{all_gather|reduce_scatter|all_reduce}} %
func.func @does_not_fit(%a: !part, %b: !whole, %c: !more, %d: !whole_more) {
  %f1 = commsched.all_gather %a on @g dim(0) : !part -> !commsched.future<!whole>
  %f2 = commsched.all_gather %c on @g dim(0) : !more -> !commsched.future<!whole_more>
  %f3 = commsched.reduce_scatter %b on @g reduction(sum) dim(0) : !whole -> !commsched.future<!part>
  %f4 = commsched.reduce_scatter %d on @g reduction(sum) dim(0) : !whole_more -> !commsched.future<!more>
  %f5 = commsched.all_reduce %b on @g reduction(sum) : !whole -> !commsched.future<!whole>
  %f6 = commsched.all_reduce %d on @g reduction(sum) : !whole_more -> !commsched.future<!whole_more>
  commsched.wait %f1 : !commsched.future<!whole>
  commsched.wait %f2 : !commsched.future<!whole_more>
  commsched.wait %f3 : !commsched.future<!part>
  commsched.wait %f4 : !commsched.future<!more>
  commsched.wait %f5 : !commsched.future<!whole>
  commsched.wait %f6 : !commsched.future<!whole_more>
  return
}
