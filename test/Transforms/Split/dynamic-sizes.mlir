// RUN: commsched-opt %s --commsched-split=chunks=2 | FileCheck %s
// RUN: commsched-opt %s --commsched-split=chunks=2 --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Rows whose number only the device knows are not divided; columns are.

commsched.group @ep size(4)

// CHECK-LABEL: func.func @columns
// CHECK: commsched.all_to_all %{{.+}} on @ep {{.*}} commsched.name = "back.chunk0", {{.*}}commsched.size_hints = array<i64: 64>} : tensor<?x16xf32> -> !commsched.future<tensor<?x16xf32>>
// CHECK: commsched.name = "experts.chunk1", {{.*}}commsched.size_hints = array<i64: 64>
// CHECK: tensor.concat dim(1) {{.*}} commsched.name = "rows.whole", commsched.size_hints = array<i64: 64>} : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x32xf32>
func.func @columns(%x: tensor<?x48xf32> {commsched.size_hints = array<i64: 64>},
                   %w: tensor<48x32xf32>, %s: tensor<4xi64>) -> tensor<?x32xf32> {
  %y = commsched.compute "aten.mm"(%x, %w) {commsched.name = "experts", commsched.size_hints = array<i64: 64>, flops = 2.0e5, split = "_ k, k n -> _ n"} : (tensor<?x48xf32>, tensor<48x32xf32>) -> tensor<?x32xf32>
  %f = commsched.all_to_all %y on @ep split_dim(0) concat_dim(0) input_splits(%s : tensor<4xi64>) output_splits(%s : tensor<4xi64>) {commsched.name = "back", commsched.size_hints = array<i64: 64>} : tensor<?x32xf32> -> !commsched.future<tensor<?x32xf32>>
  %r = commsched.wait %f {commsched.name = "rows"} : !commsched.future<tensor<?x32xf32>>
  return %r : tensor<?x32xf32>
}

// A part of such a value that is given whole is not taken, and what nothing is
// expected of is left alone.
// REMARK: 'back': not split: commsched.all_to_all 'back' ({{.*}}) reads chunks of a value of dynamic size that is given whole
// REMARK: 'unknown': not split: commsched.all_to_all 'unknown' ({{.*}}) has a value of unknown size
// CHECK-LABEL: func.func @whole
// CHECK-NOT: chunk
func.func @whole(%x: tensor<?x48xf32> {commsched.size_hints = array<i64: 64>},
                 %w: tensor<32x48xf32>, %s: tensor<4xi64>) -> (tensor<32x48xf32>, tensor<?x48xf32>) {
  %f = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s : tensor<4xi64>) output_splits(%s : tensor<4xi64>) {commsched.name = "back", commsched.size_hints = array<i64: 64>} : tensor<?x48xf32> -> !commsched.future<tensor<?x48xf32>>
  %r = commsched.wait %f {commsched.name = "rows"} : !commsched.future<tensor<?x48xf32>>
  %y = commsched.compute "aten.mm"(%w, %r) {flops = 2.0e5, split = "m _, _ n -> m n"} : (tensor<32x48xf32>, tensor<?x48xf32>) -> tensor<32x48xf32>
  %g = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0) input_splits(%s : tensor<4xi64>) output_splits(%s : tensor<4xi64>) {commsched.name = "unknown"} : tensor<?x48xf32> -> !commsched.future<tensor<?x48xf32>>
  %u = commsched.wait %g : !commsched.future<tensor<?x48xf32>>
  return %y, %u : tensor<32x48xf32>, tensor<?x48xf32>
}
