// RUN: %rows %s | commsched-opt --commsched-bucket=kinds=all-to-all | FileCheck %s
// RUN: %rows %s | commsched-opt --commsched-bucket=kinds=all-to-all \
// RUN:   --commsched-bucket=kinds=all-to-all | FileCheck %s

// All-to-alls that split and concatenate alike share a launch.

commsched.group @ep size(2)

// CHECK-LABEL: func.func @experts(
// CHECK-SAME: %[[TOKENS:.+]]: tensor<10x16xf32>, %[[WEIGHTS:.+]]: tensor<10xf32>)
// CHECK-NEXT: %[[F:.+]] = commsched.all_to_all %[[TOKENS]], %[[WEIGHTS]] on @ep split_dim(0) concat_dim(0) input_splits([3, 7]) {commsched.name = "tokens+weights"{{.*}}}
// CHECK: commsched.all_to_all %[[TOKENS]] on @ep split_dim(0) concat_dim(0) input_splits([4, 6]) {commsched.name = "others"}
// CHECK: commsched.all_to_all %[[TOKENS]] on @ep split_dim(0) concat_dim(0) {commsched.name = "even"}
// CHECK: commsched.all_to_all %[[TOKENS]] on @ep split_dim(0) concat_dim(1) {commsched.name = "transposed"}
// CHECK: %[[W:.+]]:2 = commsched.wait %[[F]]
// CHECK: return %[[W]]#0, %[[W]]#1,
func.func @experts(%tokens: tensor<10x16xf32>, %weights: tensor<10xf32>)
    -> (tensor<12x16xf32>, tensor<12xf32>, tensor<12x16xf32>, tensor<10x16xf32>, tensor<5x32xf32>) {
  $run(%w5 = all_to_all %tokens on @ep split_dim(0) concat_dim(0) input_splits([3, 7]) {commsched.name = "tokens"} : tensor<10x16xf32> -> tensor<12x16xf32>)
  $run(%w6 = all_to_all %weights on @ep split_dim(0) concat_dim(0) input_splits([3, 7]) {commsched.name = "weights"} : tensor<10xf32> -> tensor<12xf32>)
  $run(%w7 = all_to_all %tokens on @ep split_dim(0) concat_dim(0) input_splits([4, 6]) {commsched.name = "others"} : tensor<10x16xf32> -> tensor<12x16xf32>)
  $run(%w8 = all_to_all %tokens on @ep split_dim(0) concat_dim(0) {commsched.name = "even"} : tensor<10x16xf32> -> tensor<10x16xf32>)
  $run(%w9 = all_to_all %tokens on @ep split_dim(0) concat_dim(1) {commsched.name = "transposed"} : tensor<10x16xf32> -> tensor<5x32xf32>)
  return %w5, %w6, %w7, %w8, %w9 : tensor<12x16xf32>, tensor<12xf32>, tensor<12x16xf32>, tensor<10x16xf32>, tensor<5x32xf32>
}

// Splits that are values may differ whenever the program runs.
// CHECK-LABEL: func.func @values(
// CHECK: commsched.all_to_all {{.*}} input_splits(%{{.+}} : tensor<2xi64>) {commsched.name = "a"}
// CHECK: commsched.all_to_all {{.*}} input_splits(%{{.+}} : tensor<2xi64>) {commsched.name = "b"}
func.func @values(%x: tensor<10x16xf32>, %s: tensor<2xi64>)
    -> (tensor<12x16xf32>, tensor<12x16xf32>) {
  $run(%w2 = all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s : tensor<2xi64>) {commsched.name = "a"} : tensor<10x16xf32> -> tensor<12x16xf32>)
  $run(%w3 = all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s : tensor<2xi64>) {commsched.name = "b"} : tensor<10x16xf32> -> tensor<12x16xf32>)
  return %w2, %w3 : tensor<12x16xf32>, tensor<12x16xf32>
}
