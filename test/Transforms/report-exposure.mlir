// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-report=format=json -o /dev/null | FileCheck %s
// RUN: commsched-opt %t.mlir --commsched-report -o /dev/null | FileCheck %s --check-prefix=TABLE

// What limits each exposed collective, and what would change it.

!t = tensor<4xi8>
!u = tensor<4x4xf32>
commsched.group @g size(4)

// Nothing is said of what is hidden. The cast would move along. The peak is at
// the end, where the collective's result is there, too.
// CHECK: "function":"in_no_way"{{.*}}"exposed_ns":0},
// CHECK-SAME: "exposed_ns":50,"limited_by":"nothing is in its way","remedy":"starting it, with what prepares it, before product would make the step 10 ns shorter","exact":{"gain_ns":10}}
// TABLE: function @in_no_way
// TABLE: most exposed  limited by               exposed
// TABLE-NEXT: all_reduce_1  nothing is in its way    50 ns
// TABLE-EMPTY:
func.func @in_no_way(%x: !t) -> (!t, !t) attributes {commsched.baseline_peak_bytes = 20} {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 20} : !t -> !commsched.future<!t>
  %p = commsched.compute "product"(%x) {flops = 1.0e12, commsched.runtime_ns = 30} : (!t) -> !t
  %v = commsched.wait %f : !commsched.future<!t>
  %c = commsched.compute "cast"(%x) {commsched.runtime_ns = 0} : (!t) -> !t
  $run(%w = all_reduce %c on @g reduction(max) {commsched.runtime_ns = 50} : !t -> !t)
  return %v, %w : !t, !t
}

// The program takes 100 bytes, or what it started from, which is allowed if it
// is more. With what is gathered beside the product's results it takes 160.
// CHECK: "function":"memory"
// CHECK-SAME: "limited_by":"budget short by 60 B, at use, for starting it before product","remedy":"60 B more, which would make the step 30 ns shorter","exact":{"gain_ns":30,"bytes_short":60}}
// CHECK: "function":"enough_in_the_baseline"{{.*}}"limited_by":"nothing is in its way"
func.func @memory(%x: tensor<20xi8>) -> tensor<80xi8> {
  %p = commsched.compute "product"(%x) {commsched.runtime_ns = 30}
      : (tensor<20xi8>) -> tensor<40xi8>
  %u = commsched.compute "use"(%p) {commsched.runtime_ns = 0} : (tensor<40xi8>) -> tensor<20xi8>
  $run(%w = all_gather %x on @g dim(0) {commsched.runtime_ns = 50} : tensor<20xi8> -> tensor<80xi8>)
  return %w : tensor<80xi8>
}
func.func @enough_in_the_baseline(%x: tensor<20xi8>) -> tensor<80xi8>
    attributes {commsched.baseline_peak_bytes = 160} {
  %p = commsched.compute "product"(%x) {commsched.runtime_ns = 30}
      : (tensor<20xi8>) -> tensor<40xi8>
  %u = commsched.compute "use"(%p) {commsched.runtime_ns = 0} : (tensor<40xi8>) -> tensor<20xi8>
  $run(%w = all_gather %x on @g dim(0) {commsched.runtime_ns = 50} : tensor<20xi8> -> tensor<80xi8>)
  return %w : tensor<80xi8>
}

// CHECK: "function":"dependence"
// CHECK-SAME: "limited_by":"dependence on aten.mm, which ends 2 ns before it begins","remedy":"an earlier aten.mm; at most 30 ns of computation elsewhere could hide it","exact":{"by_ns":2,"spare_ns":30}}
func.func @dependence(%x: !u) -> !u {
  %o = commsched.compute "other"(%x) {commsched.runtime_ns = 30} : (!u) -> !u
  %p = commsched.compute "aten.mm"(%x, %x)
      {flops = 1.28e+8, commsched.runtime_ns = 30} : (!u, !u) -> !u
  %c = commsched.compute "cast"(%p) {commsched.runtime_ns = 2} : (!u) -> !u
  $run(%w = all_reduce %c on @g reduction(max) {commsched.runtime_ns = 50} : !u -> !u)
  return %w : !u
}
