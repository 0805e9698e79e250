// RUN: commsched-opt %s --commsched-bucket=mode=copy --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

commsched.group @dp size(4)

// Names, the common module, what all agree on, the first place in the order and
// all locations stay; accounts of moves do not.
// CHECK-LABEL: func.func @merged(
// CHECK: commsched.all_gather_copy_in {{.*}} on @dp {commsched.module = "layers.1", commsched.name = "gather_a+gather_b.copy_in", commsched.origin = {{\[\[}}"gather_a", "narrowed"], "gather_b"], commsched.partition = "backward"} : {{.*}} loc(fused["ga", "gb", "cast"])
// CHECK: commsched.all_gather {{.*}} {commsched.module = "layers.1", commsched.name = "gather_a+gather_b", commsched.order = 3 : i64, commsched.origin = ["gather_a", "gather_b"], commsched.partition = "backward"} : {{.*}} loc(fused["ga", "gb"])
// CHECK: commsched.wait {{.*}} {commsched.module = "layers.1.attention", commsched.name = "wait_a+wait_b", commsched.origin = ["wait_a", "wait_b"]} : {{.*}} loc(fused["wa", "wb"])
// CHECK: commsched.split_with_sizes_copy {{.*}} {commsched.module = "layers.1", commsched.name = "gather_a+gather_b.copy_out", {{.*}}commsched.partition = "backward"} : {{.*}} loc(fused["wa", "wb"])
// CHECK: tensor.empty() : tensor<2x4x2xf32> loc("wb")
// CHECK: linalg.transpose {{.*}} {commsched.module = "layers.1.attention", commsched.name = "wait_b.transpose", commsched.origin = ["wait_b"]} loc("wb")
func.func @merged(%a: tensor<2xf64>, %b: tensor<2x2xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  %c = arith.truncf %a {commsched.name = "narrowed"} : tensor<2xf64> to tensor<2xf32> loc("cast")
  %0 = commsched.all_gather %c on @dp dim(0) {
      commsched.name = "gather_a", commsched.module = "layers.1.attention", commsched.partition = "backward",
      commsched.order = 3 : i64} : tensor<2xf32> -> !commsched.future<tensor<8xf32>> loc("ga")
  %1 = commsched.all_gather %b on @dp dim(1) {
      commsched.name = "gather_b", commsched.module = "layers.1.attn", commsched.partition = "backward",
      commsched.order = 4 : i64, commsched.reorder_info = {
          comm_ns = 1 : i64, compute_ns = 1 : i64, exposed_before_ns = 1 : i64, exposed_after_ns = 0 : i64,
          moves = 1 : i64, grouped = 0 : i64, limiting_factor = "", pass = ""}} : tensor<2x2xf32> -> !commsched.future<tensor<2x8xf32>> loc("gb")
  %3 = commsched.wait %1 {commsched.name = "wait_b", commsched.module = "layers.1.attention"} : !commsched.future<tensor<2x8xf32>> loc("wb")
  %2 = commsched.wait %0 {
      commsched.name = "wait_a", commsched.module = "layers.1.attention", commsched.partition = "backward"} : !commsched.future<tensor<8xf32>> loc("wa")
  return %2, %3 : tensor<8xf32>, tensor<2x8xf32>
}

// A part of a component is no module; members without a name have none, and
// one without a module leaves nothing in common. The order may be the second's.
// CHECK-LABEL: func.func @little(
// CHECK: tensor.concat {{.*}} {commsched.name = "r.copy_in"{{.*}}}
// CHECK: commsched.all_reduce {{.*}} {commsched.name = "r", commsched.order = 2 : i64, commsched.origin = ["r"]}
// CHECK: commsched.chunk_cat {{.*}} {commsched.module = "layers"}
// CHECK: commsched.reduce_scatter {{.*}} {commsched.module = "layers"}
// CHECK-COUNT-2: commsched.wait %{{[0-9]+}} : !commsched.future
func.func @little(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) {
  %0 = commsched.all_reduce %a on @dp reduction(sum) {commsched.module = "layers"} : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %1 = commsched.all_reduce %a on @dp reduction(sum) {commsched.name = "r", commsched.order = 2 : i64} : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<4xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<4xf32>>
  %4 = commsched.reduce_scatter %a on @dp reduction(sum) dim(0) {commsched.module = "layers.1"} : tensor<4xf32> -> !commsched.future<tensor<1xf32>>
  %5 = commsched.reduce_scatter %a on @dp reduction(sum) dim(0) {commsched.module = "layers.10"} : tensor<4xf32> -> !commsched.future<tensor<1xf32>>
  %6 = commsched.wait %4 : !commsched.future<tensor<1xf32>>
  %7 = commsched.wait %5 : !commsched.future<tensor<1xf32>>
  return %2, %3, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>
}
