// RUN: commsched-opt %s --commsched-report="format=json output=%t.before" \
// RUN:   --commsched-bucket-all-gather=plan=auto \
// RUN:   --commsched-report="format=json output=%t.after" | FileCheck %s
// RUN: %python %S/../Inputs/check_step_times.py %t.before %t.after
// RUN: FileCheck %s --check-prefix=REPORT < %t.after

// As a program is traced, nothing is hidden. In one bucket for each block, the
// first is hidden by the product that needs none, and the second one by the
// product that needs the first: as one bucket, half of them would be exposed.

// REPORT: "step_time_ns":4400000,
// REPORT-SAME: "exposed_comm_ns":0,

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

// CHECK-LABEL: func.func @step(
// CHECK-NEXT: commsched.all_gather_copy_in
// CHECK-NEXT: "ag1+ag2"
// CHECK-NEXT: commsched.all_gather_copy_in
// CHECK-NEXT: "ag3+ag4"
// CHECK-NEXT: "mm1"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.split_with_sizes_copy
// CHECK-NEXT: "mm2"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.split_with_sizes_copy
// CHECK-NEXT: "sum"
func.func @step(%a: !shard, %b: !shard, %c: !shard, %d: !shard, %x: !x) -> (!whole, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1", commsched.module = "layers.0"} : !shard -> !commsched.future<!whole>
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2", commsched.module = "layers.0"} : !shard -> !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  %f3 = commsched.all_gather %c on @g dim(0) {commsched.name = "ag3", commsched.module = "layers.1"} : !shard -> !commsched.future<!whole>
  %w3 = commsched.wait %f3 : !commsched.future<!whole>
  %f4 = commsched.all_gather %d on @g dim(0) {commsched.name = "ag4", commsched.module = "layers.1"} : !shard -> !commsched.future<!whole>
  %w4 = commsched.wait %f4 : !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {flops = 1.0e9 : f64, commsched.runtime_ns = 2200000} : (!x) -> !x
  %m2 = commsched.compute "mm2"(%m1, %w1, %w2) {flops = 1.0e9 : f64, commsched.runtime_ns = 2200000} : (!x, !whole, !whole) -> !x
  %s = commsched.compute "sum"(%w3, %w4) {commsched.runtime_ns = 0} : (!whole, !whole) -> !whole
  return %s, %m2 : !whole, !x
}
}
