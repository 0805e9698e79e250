// RUN: commsched-test-opt %s --test-merge-collectives=multi-dtype | FileCheck %s
// RUN: commsched-test-opt %s --test-merge-collectives | FileCheck %s --check-prefix=SINGLE

commsched.group @dp size(4)

// Gathers of several element types travel as bytes: 2 x 6 + 4 x 4 + 1 x 3 for
// each rank.
// CHECK-LABEL: func.func @gathers(
// CHECK-SAME: %[[A:.+]]: tensor<2x3xf32>, %[[B:.+]]: tensor<4xf32>, %[[C:.+]]: tensor<1x3xi1>)
// CHECK-NEXT: %[[SLICE:.+]], %[[BUFFER:.+]] = commsched.all_gather_copy_in %[[A]], %[[B]], %[[C]] on @dp packed([bf16, f32, i1]) {commsched.name = "a+b+c.copy_in"{{.*}}} : tensor<2x3xf32>, tensor<4xf32>, tensor<1x3xi1> -> tensor<31xi8>, tensor<124xi8>
// CHECK-NEXT: commsched.all_gather %[[SLICE]] on @dp dim(0) into %[[BUFFER]] {commsched.name = "a+b+c"{{.*}}} : tensor<31xi8> into tensor<124xi8> -> !commsched.future<tensor<124xi8>>
// CHECK-NEXT: %[[W:.+]] = commsched.wait
// CHECK-NEXT: commsched.split_with_sizes_copy %[[W]] on @dp {commsched.name = "a+b+c.copy_out"{{.*}}} : tensor<124xi8> -> tensor<8x3xbf16>, tensor<16xf32>, tensor<4x3xi1>
// SINGLE-LABEL: func.func @gathers(
// SINGLE-NOT: commsched.all_gather_copy_in
// SINGLE-LABEL: func.func @one_type(
// SINGLE: commsched.all_gather_copy_in
func.func @gathers(%a: tensor<2x3xf32>, %b: tensor<4xf32>, %c: tensor<1x3xi1>)
    -> (tensor<8x3xbf16>, tensor<16xf32>, tensor<4x3xi1>) {
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %0 = commsched.all_gather %ca on @dp dim(0) {commsched.name = "a"} : tensor<2x3xbf16> -> !commsched.future<tensor<8x3xbf16>>
  %1 = commsched.all_gather %b on @dp dim(0) {commsched.name = "b"} : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %2 = commsched.all_gather %c on @dp dim(0) {commsched.name = "c"} : tensor<1x3xi1> -> !commsched.future<tensor<4x3xi1>>
  %3 = commsched.wait %0 : !commsched.future<tensor<8x3xbf16>>
  %4 = commsched.wait %1 : !commsched.future<tensor<16xf32>>
  %5 = commsched.wait %2 : !commsched.future<tensor<4x3xi1>>
  return %3, %4, %5 : tensor<8x3xbf16>, tensor<16xf32>, tensor<4x3xi1>
}

// One element type needs no bytes.
// CHECK-LABEL: func.func @one_type(
// CHECK-NEXT: commsched.all_gather_copy_in %{{.+}}, %{{.+}} on @dp : tensor<4xbf16>, tensor<4xbf16> -> tensor<8xbf16>, tensor<32xbf16>
func.func @one_type(%a: tensor<4xbf16>) -> (tensor<16xbf16>, tensor<16xbf16>) {
  %0 = commsched.all_gather %a on @dp dim(0) : tensor<4xbf16> -> !commsched.future<tensor<16xbf16>>
  %1 = commsched.all_gather %a on @dp dim(0) : tensor<4xbf16> -> !commsched.future<tensor<16xbf16>>
  %2 = commsched.wait %0 : !commsched.future<tensor<16xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<16xbf16>>
  return %2, %3 : tensor<16xbf16>, tensor<16xbf16>
}

// What is reduced has an element type.
// CHECK-LABEL: func.func @reductions(
// CHECK-NEXT: commsched.reduce_scatter {{.*}} : tensor<4xbf16>
// CHECK-NEXT: commsched.reduce_scatter {{.*}} : tensor<4xf32>
// CHECK-NEXT: commsched.all_reduce {{.*}} : tensor<4xbf16>
// CHECK-NEXT: commsched.all_reduce {{.*}} : tensor<4xf32>
func.func @reductions(%a: tensor<4xbf16>, %b: tensor<4xf32>) -> (tensor<1xbf16>, tensor<1xf32>, tensor<4xbf16>, tensor<4xf32>) {
  %0 = commsched.reduce_scatter %a on @dp reduction(sum) dim(0) : tensor<4xbf16> -> !commsched.future<tensor<1xbf16>>
  %1 = commsched.reduce_scatter %b on @dp reduction(sum) dim(0) : tensor<4xf32> -> !commsched.future<tensor<1xf32>>
  %2 = commsched.all_reduce %a on @dp reduction(sum) : tensor<4xbf16> -> !commsched.future<tensor<4xbf16>>
  %3 = commsched.all_reduce %b on @dp reduction(sum) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %4 = commsched.wait %0 : !commsched.future<tensor<1xbf16>>
  %5 = commsched.wait %1 : !commsched.future<tensor<1xf32>>
  %6 = commsched.wait %2 : !commsched.future<tensor<4xbf16>>
  %7 = commsched.wait %3 : !commsched.future<tensor<4xf32>>
  return %4, %5, %6, %7 : tensor<1xbf16>, tensor<1xf32>, tensor<4xbf16>, tensor<4xf32>
}
