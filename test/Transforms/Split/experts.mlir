// RUN: commsched-opt %s --commsched-split=chunks=2 | FileCheck %s

// A region goes on behind the exchange to where its values have the fewest
// bytes: the sum of the experts of a token. What is added to it has as many.

commsched.group @ep size(4)

// CHECK-LABEL: func.func @combine
// CHECK: commsched.name = "experts.chunk0"
// CHECK: commsched.name = "order.chunk0"
// CHECK: commsched.name = "weigh.chunk0"
// CHECK-DAG: %[[C0:.+]] = commsched.compute "aten.sum"{{.*}} commsched.name = "sum.chunk0"
// CHECK-DAG: %[[C1:.+]] = commsched.compute "aten.sum"{{.*}} commsched.name = "sum.chunk1"
// CHECK: %[[S:.+]] = commsched.compute "commsched.join"(%{{.+}}, %[[C0]], %[[C1]]) {{.*}} commsched.name = "sum.whole"
// CHECK: commsched.compute "aten.add"(%[[S]], %{{.+}}) {commsched.name = "add"
// CHECK-NOT: tensor.concat
func.func @combine(%x: tensor<?x48xf32> {commsched.size_hints = array<i64: 64>},
                   %w: tensor<48x32xf32>, %s: tensor<4xi64>,
                   %i: tensor<64xi64>, %k: tensor<16x4x1xf32>,
                   %h: tensor<16x32xf32>) -> tensor<f32> {
  %y = commsched.compute "aten.mm"(%x, %w) {commsched.name = "experts", commsched.size_hints = array<i64: 64>, flops = 2.0e5, split = "_ k, k n -> _ n"} : (tensor<?x48xf32>, tensor<48x32xf32>) -> tensor<?x32xf32>
  %f = commsched.all_to_all %y on @ep split_dim(0) concat_dim(0) input_splits(%s : tensor<4xi64>) output_splits(%s : tensor<4xi64>) {commsched.name = "back"} : tensor<?x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %r = commsched.wait %f {commsched.name = "rows"} : !commsched.future<tensor<64x32xf32>>
  %o = commsched.compute "aten.index"(%r, %i) {commsched.name = "order", split = "_ a, b -> b a"} : (tensor<64x32xf32>, tensor<64xi64>) -> tensor<64x32xf32>
  %v = commsched.compute "aten.view"(%o) {alias = 0 : i64, commsched.name = "view", split = "(a b) c -> a b c"} : (tensor<64x32xf32>) -> tensor<16x4x32xf32>
  %m = commsched.compute "aten.mul"(%v, %k) {commsched.name = "weigh", split = "a b c, a b _ -> a b c"} : (tensor<16x4x32xf32>, tensor<16x4x1xf32>) -> tensor<16x4x32xf32>
  %t = commsched.compute "aten.sum"(%m) {commsched.name = "sum", split = "a b c -> a c"} : (tensor<16x4x32xf32>) -> tensor<16x32xf32>
  %a = commsched.compute "aten.add"(%t, %h) {commsched.name = "add", split = "a b, a b -> a b"} : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %n = commsched.compute "aten.norm"(%a) {commsched.name = "norm"} : (tensor<16x32xf32>) -> tensor<f32>
  return %n : tensor<f32>
}

// What is returned is needed whole wherever the region ends.

// CHECK-LABEL: func.func @saved
// CHECK: tensor.concat {{.*}} commsched.name = "rows.whole"
// CHECK: commsched.name = "sum.chunk1"
func.func @saved(%x: tensor<64x48xf32>, %w: tensor<48x32xf32>)
    -> (tensor<64x32xf32>, tensor<16x32xf32>) {
  %y = commsched.compute "aten.mm"(%x, %w) {commsched.name = "experts", flops = 2.0e5, split = "_ k, k n -> _ n"} : (tensor<64x48xf32>, tensor<48x32xf32>) -> tensor<64x32xf32>
  %f = commsched.all_to_all %y on @ep split_dim(0) concat_dim(0) {commsched.name = "back"} : tensor<64x32xf32> -> !commsched.future<tensor<64x32xf32>>
  %r = commsched.wait %f {commsched.name = "rows"} : !commsched.future<tensor<64x32xf32>>
  %v = commsched.compute "aten.view"(%r) {alias = 0 : i64, commsched.name = "view", split = "(a b) c -> a b c"} : (tensor<64x32xf32>) -> tensor<16x4x32xf32>
  %t = commsched.compute "aten.sum"(%v) {commsched.name = "sum", split = "a b c -> a c"} : (tensor<16x4x32xf32>) -> tensor<16x32xf32>
  return %r, %t : tensor<64x32xf32>, tensor<16x32xf32>
}

// Nothing behind this exchange has fewer bytes than what it delivers.

// CHECK-LABEL: func.func @widen
// CHECK: commsched.name = "rows.whole"
// CHECK-NOT: chunk0
// CHECK: return
func.func @widen(%x: tensor<64x48xf32>, %w: tensor<48x32xbf16>)
    -> (tensor<64x32xbf16>, tensor<f32>) {
  %y = commsched.compute "aten.mm"(%x, %w) {commsched.name = "experts", flops = 2.0e5, split = "_ k, k n -> _ n"} : (tensor<64x48xf32>, tensor<48x32xbf16>) -> tensor<64x32xbf16>
  %f = commsched.all_to_all %y on @ep split_dim(0) concat_dim(0) {commsched.name = "back"} : tensor<64x32xbf16> -> !commsched.future<tensor<64x32xbf16>>
  %r = commsched.wait %f {commsched.name = "rows"} : !commsched.future<tensor<64x32xbf16>>
  %u = commsched.compute "aten.to"(%r) {commsched.name = "up", split = "a b -> a b"} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %n = commsched.compute "aten.norm"(%u) {commsched.name = "norm"} : (tensor<64x32xf32>) -> tensor<f32>
  return %r, %n : tensor<64x32xbf16>, tensor<f32>
}
