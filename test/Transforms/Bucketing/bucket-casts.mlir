// RUN: commsched-opt %s --commsched-bucket-all-gather | FileCheck %s

// Casts that the copy-in of a bucket makes, and what they are made of, come up
// to the bucket or go, wherever they stand.

!f32 = tensor<4xf32>
!f16 = tensor<4xf16>
!whole = tensor<8xf16>

commsched.group @g size(2)

// The second cast has to come after the first gather, whose place in the order
// of collectives is before that of the reduction that it needs. So the copy-in
// would have to come after itself.
// CHECK-LABEL: func.func @ordered_between(
// CHECK-NEXT: commsched.compute "aten._to_copy"(%arg0)
// CHECK-NEXT: commsched.all_gather %
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.compute "aten._to_copy"
// CHECK-NEXT: commsched.all_gather %
func.func @ordered_between(%a: !f32, %b: !f32) -> (!whole, !whole) {
  %ca = commsched.compute "aten._to_copy"(%a) : (!f32) -> !f16
  %f1 = commsched.all_gather %ca on @g dim(0) {commsched.order = 0} : !f16 -> !commsched.future<!whole>
  %f0 = commsched.all_reduce %b on @g reduction(max) {commsched.order = 1} : !f32 -> !commsched.future<!f32>
  %w0 = commsched.wait %f0 : !commsched.future<!f32>
  %cb = commsched.compute "aten._to_copy"(%w0) : (!f32) -> !f16
  %f2 = commsched.all_gather %cb on @g dim(0) : !f16 -> !commsched.future<!whole>
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2 : !whole, !whole
}

// If only the order of the two gathers themselves says so, they may be one.
// CHECK-LABEL: func.func @ordered(
// CHECK-NEXT: commsched.all_gather_copy_in %arg0, %arg1 on @g : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: commsched.all_gather {{.*}} {commsched.order = 0 : i64}
func.func @ordered(%a: !f32, %b: !f32) -> (!whole, !whole) {
  %ca = commsched.compute "aten._to_copy"(%a) : (!f32) -> !f16
  %f1 = commsched.all_gather %ca on @g dim(0) {commsched.order = 0} : !f16 -> !commsched.future<!whole>
  %cb = commsched.compute "aten._to_copy"(%b) : (!f32) -> !f16
  %f2 = commsched.all_gather %cb on @g dim(0) {commsched.order = 1} : !f16 -> !commsched.future<!whole>
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2 : !whole, !whole
}
