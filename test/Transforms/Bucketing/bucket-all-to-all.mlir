// RUN: commsched-opt %s --commsched-bucket=kinds=all-to-all | FileCheck %s
// RUN: commsched-opt %s --commsched-bucket=kinds=all-to-all \
// RUN:   --commsched-bucket=kinds=all-to-all | FileCheck %s

// All-to-alls that split and concatenate alike share a launch.

commsched.group @ep size(2)

// CHECK-LABEL: func.func @experts(
// CHECK-SAME: %[[TOKENS:.+]]: tensor<10x16xf32>, %[[WEIGHTS:.+]]: tensor<10xf32>)
// CHECK-NEXT: %[[F:.+]] = commsched.all_to_all %[[TOKENS]], %[[WEIGHTS]] on @ep split_dim(0) concat_dim(0) input_splits([3, 7]) {commsched.name = "tokens+weights"{{.*}}}
// CHECK-NEXT: commsched.all_to_all %[[TOKENS]] on @ep split_dim(0) concat_dim(0) input_splits([4, 6]) {commsched.name = "others"}
// CHECK-NEXT: commsched.all_to_all %[[TOKENS]] on @ep split_dim(0) concat_dim(0) {commsched.name = "even"}
// CHECK-NEXT: commsched.all_to_all %[[TOKENS]] on @ep split_dim(0) concat_dim(1) {commsched.name = "transposed"}
// CHECK-COUNT-3: commsched.wait
// CHECK-NEXT: %[[W:.+]]:2 = commsched.wait %[[F]]
// CHECK: return %[[W]]#0, %[[W]]#1,
func.func @experts(%tokens: tensor<10x16xf32>, %weights: tensor<10xf32>)
    -> (tensor<12x16xf32>, tensor<12xf32>, tensor<12x16xf32>, tensor<10x16xf32>, tensor<5x32xf32>) {
  %0 = commsched.all_to_all %tokens on @ep split_dim(0) concat_dim(0) input_splits([3, 7]) {commsched.name = "tokens"} : tensor<10x16xf32> -> !commsched.future<tensor<12x16xf32>>
  %1 = commsched.all_to_all %weights on @ep split_dim(0) concat_dim(0) input_splits([3, 7]) {commsched.name = "weights"} : tensor<10xf32> -> !commsched.future<tensor<12xf32>>
  %2 = commsched.all_to_all %tokens on @ep split_dim(0) concat_dim(0) input_splits([4, 6]) {commsched.name = "others"} : tensor<10x16xf32> -> !commsched.future<tensor<12x16xf32>>
  %3 = commsched.all_to_all %tokens on @ep split_dim(0) concat_dim(0) {commsched.name = "even"} : tensor<10x16xf32> -> !commsched.future<tensor<10x16xf32>>
  %4 = commsched.all_to_all %tokens on @ep split_dim(0) concat_dim(1) {commsched.name = "transposed"} : tensor<10x16xf32> -> !commsched.future<tensor<5x32xf32>>
  %5 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>
  %6 = commsched.wait %1 : !commsched.future<tensor<12xf32>>
  %7 = commsched.wait %2 : !commsched.future<tensor<12x16xf32>>
  %8 = commsched.wait %3 : !commsched.future<tensor<10x16xf32>>
  %9 = commsched.wait %4 : !commsched.future<tensor<5x32xf32>>
  return %5, %6, %7, %8, %9 : tensor<12x16xf32>, tensor<12xf32>, tensor<12x16xf32>, tensor<10x16xf32>, tensor<5x32xf32>
}

// Splits that are values may differ whenever the program runs.
// CHECK-LABEL: func.func @values(
// CHECK: commsched.all_to_all {{.*}} input_splits(%{{.+}} : tensor<2xi64>) {commsched.name = "a"}
// CHECK-NEXT: commsched.all_to_all {{.*}} input_splits(%{{.+}} : tensor<2xi64>) {commsched.name = "b"}
func.func @values(%x: tensor<10x16xf32>, %s: tensor<2xi64>)
    -> (tensor<12x16xf32>, tensor<12x16xf32>) {
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s : tensor<2xi64>) {commsched.name = "a"} : tensor<10x16xf32> -> !commsched.future<tensor<12x16xf32>>
  %1 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s : tensor<2xi64>) {commsched.name = "b"} : tensor<10x16xf32> -> !commsched.future<tensor<12x16xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<12x16xf32>>
  return %2, %3 : tensor<12x16xf32>, tensor<12x16xf32>
}
