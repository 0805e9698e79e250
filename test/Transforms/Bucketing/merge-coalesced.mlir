// RUN: commsched-test-opt %s --test-merge-collectives=mode=coalesced | FileCheck %s

// Nothing is copied, whatever the shapes.

commsched.group @dp size(4)

// CHECK-LABEL: func.func @gathers(
// CHECK-SAME: %[[A:.+]]: tensor<2x3xbf16>, %[[B:.+]]: tensor<0x1xbf16>)
// CHECK-NEXT: %[[F:.+]] = commsched.all_gather %[[A]], %[[B]] on @dp dim(1) : tensor<2x3xbf16>, tensor<0x1xbf16> -> !commsched.future<tensor<2x12xbf16>, tensor<0x4xbf16>>
// CHECK-NEXT: %[[W:.+]]:2 = commsched.wait %[[F]]
// CHECK-NEXT: return %[[W]]#0, %[[W]]#1
func.func @gathers(%a: tensor<2x3xbf16>, %b: tensor<0x1xbf16>) -> (tensor<2x12xbf16>, tensor<0x4xbf16>) {
  %0 = commsched.all_gather %a on @dp dim(1) : tensor<2x3xbf16> -> !commsched.future<tensor<2x12xbf16>>
  %1 = commsched.all_gather %b on @dp dim(1) : tensor<0x1xbf16> -> !commsched.future<tensor<0x4xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<0x4xbf16>>
  %2 = commsched.wait %0 : !commsched.future<tensor<2x12xbf16>>
  return %2, %3 : tensor<2x12xbf16>, tensor<0x4xbf16>
}

// One launch has one dimension.
// CHECK-LABEL: func.func @other_dimensions(
// CHECK-NEXT: commsched.all_gather {{.*}} dim(0) : tensor<2x3xbf16>
// CHECK-NEXT: commsched.all_gather {{.*}} dim(1) : tensor<2x3xbf16>
func.func @other_dimensions(%a: tensor<2x3xbf16>) -> (tensor<8x3xbf16>, tensor<2x12xbf16>) {
  %0 = commsched.all_gather %a on @dp dim(0) : tensor<2x3xbf16> -> !commsched.future<tensor<8x3xbf16>>
  %1 = commsched.all_gather %a on @dp dim(1) : tensor<2x3xbf16> -> !commsched.future<tensor<2x12xbf16>>
  %2 = commsched.wait %0 : !commsched.future<tensor<8x3xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<2x12xbf16>>
  return %2, %3 : tensor<8x3xbf16>, tensor<2x12xbf16>
}

// The cast would be absorbed by a copy-in, which there is none of.
// CHECK-LABEL: func.func @casts_stay(
// CHECK-NEXT: %[[X:.+]] = commsched.compute "aten._to_copy"
// CHECK-NEXT: commsched.all_gather %[[X]], %{{.+}} on @dp
func.func @casts_stay(%a: tensor<2xf32>, %b: tensor<2xbf16>) -> (tensor<8xbf16>, tensor<8xbf16>) {
  %x = commsched.compute "aten._to_copy"(%a) : (tensor<2xf32>) -> tensor<2xbf16>
  %0 = commsched.all_gather %x on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %b on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  return %2, %3 : tensor<8xbf16>, tensor<8xbf16>
}
