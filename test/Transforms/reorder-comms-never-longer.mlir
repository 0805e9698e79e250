// RUN: %rows %s | commsched-opt --commsched-bucket-all-gather="mode=auto plan=auto" --mlir-print-local-scope > %t.mlir
// DEFINE: %{options} = memory-budget=5% reorder_iterative_use_runtime_estimations=true
// DEFINE: %{reorder} = commsched-opt %t.mlir --mlir-print-local-scope \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory="%{options}"

// Both buckets are hidden behind the product that runs beside them. To hide
// each of them the more, the pass lets the second overtake the first, which is
// needed earlier: that makes the step longer.
// RUN: %{reorder} | FileCheck %s
// CHECK: commsched.all_gather {{.*}}"gather3+gather4"
// CHECK: commsched.all_gather {{.*}}"gather1+gather2"

// REDEFINE: %{options} = memory-budget=5% reorder_iterative_use_runtime_estimations=true never-longer
// RUN: %{reorder} | diff %t.mlir -
// RUN: %{reorder} --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: [Missed] BlockKept
// REMARK-SAME: "not reordered: the step would take {{[0-9]+}} ns instead of {{[0-9]+}}"

!x = tensor<4xf32>
!shard = tensor<262144xf32>
!whole = tensor<524288xf32>

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.collective_launch_us" = 88.2 : f64,
    "commsched.nvls" = 0,
    "commsched.intra_channels" = 1,
    "commsched.intra_channel_gb_s" = 1.048576 : f64,
    "commsched.local_copy_gb_s" = 0.0 : f64,
    "commsched.local_reduce_gb_s" = 0.0 : f64,
    "commsched.kernel_launch_ns" = 0,
    "commsched.memory_gb_s" = 1.0e9 : f64>>} {

commsched.group @g size(2)

func.func @f(%a: !shard, %b: !shard, %c: !shard, %d: !shard, %x: !x) -> (!whole, !x) {
  $run(%w1 = all_gather %a on @g dim(0) {commsched.name = "gather1", commsched.module = "layers.0"} : !shard -> !whole)
  $run(%w2 = all_gather %b on @g dim(0) {commsched.name = "gather2", commsched.module = "layers.0"} : !shard -> !whole)
  $run(%w3 = all_gather %c on @g dim(0) {commsched.name = "gather3", commsched.module = "layers.1"} : !shard -> !whole)
  $run(%w4 = all_gather %d on @g dim(0) {commsched.name = "gather4", commsched.module = "layers.1"} : !shard -> !whole)
  %m1 = commsched.compute "mm1"(%x) {flops = 1.0e9 : f64, commsched.runtime_ns = 2200000} : (!x) -> !x
  %m2 = commsched.compute "mm2"(%m1, %w1, %w2) {flops = 1.0e9 : f64, commsched.runtime_ns = 2200000} : (!x, !whole, !whole) -> !x
  %s = commsched.compute "sum"(%w3, %w4) {commsched.runtime_ns = 0} : (!whole, !whole) -> !whole
  return %s, %m2 : !whole, !x
}
}
