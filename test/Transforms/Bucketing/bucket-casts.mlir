// DEFINE: %{merge} = commsched-opt %s --commsched-bucket-all-gather
// RUN: %{merge} | FileCheck %s

// Casts that the copy-in of a bucket makes, and what they are made of, come up
// to the bucket or go, wherever they stand.

!f32 = tensor<4xf32>
!f16 = tensor<4xf16>
!whole = tensor<8xf16>

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.collective_launch_us" = 90.0 : f64,
    "commsched.kernel_launch_ns" = 0,
    "commsched.memory_gb_s" = 1.0e9 : f64>>} {

commsched.group @g size(2)

// A cast hides a part of another gather, and is made for a bucket that the
// other gather has no place in.
// CHECK-LABEL: func.func @beside_another_gather(
// CHECK-NEXT: commsched.all_gather %arg0
// CHECK-NEXT: "mm1"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.all_gather_copy_in %arg1, %arg2 on @g : tensor<4xf32>, tensor<4xf16>
// CHECK-NEXT: commsched.all_gather %
// CHECK-NEXT: "mm2"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.split_with_sizes_copy
// CHECK-NEXT: return
func.func @beside_another_gather(%a: !f32, %b: !f32, %c: !f16) -> (tensor<8xf32>, !whole, !whole) {
  %f1 = commsched.all_gather %a on @g dim(0) : !f32 -> !commsched.future<tensor<8xf32>>
  %m1 = commsched.compute "mm1"(%a) {flops = 1.0e9 : f64, commsched.runtime_ns = 100000} : (!f32) -> !f32
  %cast = commsched.compute "aten._to_copy"(%b) {commsched.runtime_ns = 1000} : (!f32) -> !f16
  %w1 = commsched.wait %f1 : !commsched.future<tensor<8xf32>>
  %f2 = commsched.all_gather %cast on @g dim(0) : !f16 -> !commsched.future<!whole>
  %f3 = commsched.all_gather %c on @g dim(0) : !f16 -> !commsched.future<!whole>
  %m2 = commsched.compute "mm2"(%w1, %m1) {flops = 1.0e9 : f64, commsched.runtime_ns = 200000} : (tensor<8xf32>, !f32) -> tensor<8xf32>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  %w3 = commsched.wait %f3 : !commsched.future<!whole>
  return %m2, %w2, %w3 : tensor<8xf32>, !whole, !whole
}

// Chains of cheap operations stand before the casts and after the waits; one
// chain ends in nothing. The chain before the first cast also makes the second
// one's operand.
// CHECK-LABEL: func.func @chains(
// CHECK-NEXT: %[[A1:.+]] = commsched.compute "add"(%arg0)
// CHECK-NEXT: %[[A2:.+]] = commsched.compute "mul"(%[[A1]])
// CHECK-NEXT: %[[B1:.+]] = commsched.compute "sub"(%[[A2]])
// CHECK-NEXT: commsched.all_gather_copy_in %[[A2]], %[[B1]] on @g : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT: commsched.all_gather %
// CHECK-NEXT: "mm"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: %[[OUT:.+]]:2 = commsched.split_with_sizes_copy
// CHECK-NEXT: %[[D:.+]] = commsched.compute "dead"(%[[OUT]]#0)
// CHECK-NEXT: commsched.compute "dead"(%[[D]])
// CHECK-NEXT: %[[L:.+]] = commsched.compute "live"(%[[OUT]]#1)
// CHECK-NEXT: return %[[OUT]]#0, %[[L]]
func.func @chains(%a: !f32) -> (!whole, !whole, !f32) {
  %a1 = commsched.compute "add"(%a) : (!f32) -> !f32
  %a2 = commsched.compute "mul"(%a1) : (!f32) -> !f32
  %ca = commsched.compute "aten._to_copy"(%a2) : (!f32) -> !f16
  %f1 = commsched.all_gather %ca on @g dim(0) : !f16 -> !commsched.future<!whole>
  %mm = commsched.compute "mm"(%a, %a) {flops = 1.0e9 : f64, commsched.runtime_ns = 400000} : (!f32, !f32) -> !f32
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %d1 = commsched.compute "dead"(%w1) : (!whole) -> !whole
  %d2 = commsched.compute "dead"(%d1) : (!whole) -> !whole
  %b1 = commsched.compute "sub"(%a2) : (!f32) -> !f32
  %cb = commsched.compute "aten._to_copy"(%b1) : (!f32) -> !f16
  %f2 = commsched.all_gather %cb on @g dim(0) : !f16 -> !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  %l = commsched.compute "live"(%w2) : (!whole) -> !whole
  return %w1, %l, %mm : !whole, !whole, !f32
}

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
}
