// Products beside collectives, divided by the rules of XLA and of PyTorch.

// REQUIRES: benchmarks
// RUN: %rows %s > %t.mlir
// RUN: commsched-peers %t.mlir \
// RUN:   --windowed-einsum='window=func.func(commsched-schedule{buckets=off})' \
// RUN:   --micro-pipeline='micro=func.func(commsched-schedule{buckets=off})' | FileCheck %s

!t = tensor<1024x64xf32>
!u = tensor<64x64xf32>
!v = tensor<1024x1x64xf32>
!w = tensor<256x1x64xf32>
commsched.group @tp size(4) ranks_per_node(4)
commsched.group @dp size(4) ranks_per_node(1)

// Three products of what is gathered: two of its rows, and one that sums over
// them, which PyTorch leaves. What is gathered of parameters stays.
// CHECK-LABEL: "function":"gather","peer":"input",{{.*}}"num_collectives":2,
// CHECK:       "function":"gather","peer":"window",{{.*}}"exposed_comm_ns":0,"num_collectives":4,
// CHECK-SAME:    "note":"1 gathers and 0 scatters divided"
// CHECK:       "function":"gather","peer":"micro",{{.*}}"num_collectives":4,
// CHECK-SAME:    "note":"1 gathers and 0 scatters divided"
func.func @gather(%x: !w, %w: tensor<16x64xf32> {commsched.role = "parameter"},
    %v: tensor<64x32xf32>, %g: tensor<1024x32xf32>) -> (!t, tensor<1024x32xf32>,
    tensor<32x64xf32>) {
  %v0 = commsched.all_gather %w on @dp dim(0) : tensor<16x64xf32> -> !commsched.future<!u>
  %v1 = commsched.all_gather %x on @tp dim(0) : !w -> !commsched.future<!v>
  %v2 = commsched.wait %v0 : !commsched.future<!u>
  %v3 = commsched.wait %v1 : !commsched.future<!v>
  %v4 = commsched.compute "aten.view"(%v3) {alias = 0 : i64} : (!v) -> !t
  %v5 = commsched.compute "aten.mm"(%v4, %v2)
      {commsched.runtime_ns = 4000000, flops = 8388608.0 : f64} : (!t, !u) -> !t
  %v6 = commsched.compute "aten.mm"(%v4, %v)
      {commsched.runtime_ns = 2000000, flops = 4194304.0 : f64}
      : (!t, tensor<64x32xf32>) -> tensor<1024x32xf32>
  %v7 = commsched.compute "aten.t"(%g) {alias = 0 : i64}
      : (tensor<1024x32xf32>) -> tensor<32x1024xf32>
  %v8 = commsched.compute "aten.mm"(%v7, %v4)
      {commsched.runtime_ns = 2000000, flops = 4194304.0 : f64}
      : (tensor<32x1024xf32>, !t) -> tensor<32x64xf32>
  return %v5, %v6, %v8 : !t, tensor<1024x32xf32>, tensor<32x64xf32>
}

// CHECK-LABEL: "function":"scatter","peer":"input",{{.*}}"num_collectives":2,
// CHECK:       "function":"scatter","peer":"window",{{.*}}"num_collectives":4,
// CHECK-SAME:    "note":"0 gathers and 1 scatters divided"
// CHECK:       "function":"scatter","peer":"micro",{{.*}}"num_collectives":4,
// CHECK-SAME:    "note":"0 gathers and 1 scatters divided"
// The second product's rows are not what is scattered.
func.func @scatter(%x: !t, %w: !u) -> (!w, tensor<1024x16xf32>) {
  %v0 = commsched.compute "aten.mm"(%x, %w)
      {commsched.runtime_ns = 4000000, flops = 8388608.0 : f64} : (!t, !u) -> !t
  %v1 = commsched.compute "aten._unsafe_view"(%v0) {alias = 0 : i64} : (!t) -> !v
  $run(%v3 = reduce_scatter %v1 on @tp reduction(sum) dim(0) : !v -> !w)
  %v4 = commsched.compute "aten.mm"(%x, %w)
      {commsched.runtime_ns = 4000000, flops = 8388608.0 : f64} : (!t, !u) -> !t
  $run(%v6 = reduce_scatter %v4 on @tp reduction(sum) dim(1) : !t -> tensor<1024x16xf32>)
  return %v3, %v6 : !w, tensor<1024x16xf32>
}
