// RUN: %rows %s > %t.mlir
// DEFINE: %{merge} = --commsched-bucket-all-gather=plan=auto \
// DEFINE:   --commsched-report="format=json output=%t.after" %remarks -o %t.merged 2> %t.remarks
// DEFINE: %{check-steps} = %python %S/../Inputs/check_step_times.py %t.before %t.after

// RUN: commsched-opt %t.mlir --commsched-report="format=json output=%t.before" %{merge}
// RUN: %orders < %t.merged | FileCheck %s --check-prefix=MODULES
// RUN: FileCheck %s --check-prefix=MODULES-REMARK < %t.remarks
// RUN: %{check-steps}
// RUN: cp %t.merged %t.once
// RUN: commsched-opt %t.once %{merge}
// RUN: diff %t.once %t.merged

// Without modules, sizes are left.
// RUN: sed 's/, commsched.module = "[^"]*"//' %t.mlir \
// RUN:   | commsched-opt --commsched-report="format=json output=%t.before" %{merge}
// RUN: %orders < %t.merged | FileCheck %s --check-prefix=SIZES
// RUN: FileCheck %s --check-prefix=SIZES-REMARK < %t.remarks
// RUN: %{check-steps}
// RUN: cp %t.merged %t.once
// RUN: commsched-opt %t.once %{merge}
// RUN: diff %t.once %t.merged

// Of all rules for steps, the one that makes the program shortest is taken. A
// second run changes nothing, even if others would find it longer.

// MODULES-REMARK: remark: [Passed] StepsChosen {{.*}} Function=step
// MODULES-REMARK-SAME: steps by the modules inside a block make the shortest program: as it is {{[0-9]+}}, by 1 block {{[0-9]+}}, by the modules inside a block [[NS:[0-9]+]], by 25% of what saturates {{[0-9]+}}, by 50% of what saturates {{[0-9]+}}"
// MODULES-REMARK-SAME: StepNs=[[NS]]
// SIZES-REMARK: remark: [Passed] StepsChosen {{.*}} Function=step
// SIZES-REMARK-SAME: steps by 25% of what saturates make the shortest program: as it is {{[0-9]+}}, by 25% of what saturates [[NS:[0-9]+]], by 50% of what saturates {{[0-9]+}}"
// SIZES-REMARK-SAME: StepNs=[[NS]]

!x = tensor<4xf32>
!shard = tensor<131072xf32>
!whole = tensor<262144xf32>

// A gather takes 1 ms, and 1 ms for each 2 MiB that it delivers. Some 18 MiB
// saturate the group.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.collective_launch_us" = 1000.0 : f64,
    "commsched.nvls" = 0,
    "commsched.intra_channels" = 1,
    "commsched.intra_channel_gb_s" = 1.048576 : f64,
    "commsched.local_copy_gb_s" = 0.0 : f64,
    "commsched.local_reduce_gb_s" = 0.0 : f64,
    "commsched.kernel_launch_ns" = 0,
    "commsched.memory_gb_s" = 1.0e9 : f64>>} {

commsched.group @g size(2)

// Each next step starts before this one is waited for, also if it is a single
// gather. By another rule, a second run would merge the last two.
// MODULES: // order: ag0+ag1.copy_in ag0+ag1 ag2+ag3.copy_in ag2+ag3 wait ag0+ag1.copy_out mm mm ag4+ag5.copy_in ag4+ag5 wait ag2+ag3.copy_out mm mm ag6+ag7.copy_in ag6+ag7 wait ag4+ag5.copy_out mm mm ag8 wait ag6+ag7.copy_out mm mm ag9 wait mm wait mm{{$}}
// SIZES: // order: ag0+ag1+ag2+ag3.copy_in ag0+ag1+ag2+ag3 ag4+ag5+ag6+ag7.copy_in ag4+ag5+ag6+ag7 wait ag0+ag1+ag2+ag3.copy_out mm mm mm mm ag8+ag9.copy_in ag8+ag9 wait ag4+ag5+ag6+ag7.copy_out mm mm mm mm wait ag8+ag9.copy_out mm mm{{$}}
func.func @step(%x: !x, %p0: !shard, %p1: !shard, %p2: !shard, %p3: !shard, %p4: !shard, %p5: !shard, %p6: !shard, %p7: !shard, %p8: !shard, %p9: !shard) -> !x {
  $run(%w0 = all_gather %p0 on @g dim(0) {commsched.name = "ag0", commsched.module = "layers.0.attention"} : !shard -> !whole)
  %x0 = commsched.compute "mm"(%x, %w0) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w1 = all_gather %p1 on @g dim(0) {commsched.name = "ag1", commsched.module = "layers.0.attention"} : !shard -> !whole)
  %x1 = commsched.compute "mm"(%x0, %w1) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w2 = all_gather %p2 on @g dim(0) {commsched.name = "ag2", commsched.module = "layers.0.mlp"} : !shard -> !whole)
  %x2 = commsched.compute "mm"(%x1, %w2) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w3 = all_gather %p3 on @g dim(0) {commsched.name = "ag3", commsched.module = "layers.0.mlp"} : !shard -> !whole)
  %x3 = commsched.compute "mm"(%x2, %w3) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w4 = all_gather %p4 on @g dim(0) {commsched.name = "ag4", commsched.module = "layers.1.attention"} : !shard -> !whole)
  %x4 = commsched.compute "mm"(%x3, %w4) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w5 = all_gather %p5 on @g dim(0) {commsched.name = "ag5", commsched.module = "layers.1.attention"} : !shard -> !whole)
  %x5 = commsched.compute "mm"(%x4, %w5) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w6 = all_gather %p6 on @g dim(0) {commsched.name = "ag6", commsched.module = "layers.1.mlp"} : !shard -> !whole)
  %x6 = commsched.compute "mm"(%x5, %w6) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w7 = all_gather %p7 on @g dim(0) {commsched.name = "ag7", commsched.module = "layers.1.mlp"} : !shard -> !whole)
  %x7 = commsched.compute "mm"(%x6, %w7) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w8 = all_gather %p8 on @g dim(0) {commsched.name = "ag8", commsched.module = "norm"} : !shard -> !whole)
  %x8 = commsched.compute "mm"(%x7, %w8) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  $run(%w9 = all_gather %p9 on @g dim(0) {commsched.name = "ag9", commsched.module = "head"} : !shard -> !whole)
  %x9 = commsched.compute "mm"(%x8, %w9) {flops = 1.0e9 : f64, commsched.runtime_ns = 1100000} : (!x, !whole) -> !x
  return %x9 : !x
}
}
