// RUN: commsched-opt %s > %t.parsed
// RUN: commsched-opt %s --commsched-bucket-all-gather=plan=auto \
// RUN:   --commsched-bucket-reduce-scatter=plan=auto \
// RUN:   --commsched-bucket-all-reduce=plan=auto \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 | FileCheck %s
// RUN: diff %t.parsed %t

// Where no steps make the program shorter, it stays exactly as it is, although
// something else may hide its collectives.
// CHECK-NOT: [Passed]

!x = tensor<4xf32>
!shard = tensor<131072xf32>
!whole = tensor<262144xf32>

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

// The products hide both, so that one launch less gains nothing.
// CHECK: Function=hidden {{.*}} 'ag1' stays alone: no steps make the program shorter
func.func @hidden(%a: !shard, %b: !shard, %x: !x) -> (!whole, !whole, !x, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1", commsched.module = "layers.0"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm"(%x) {flops = 1.0e9 : f64, commsched.runtime_ns = 2200000} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2", commsched.module = "layers.0"} : !shard -> !commsched.future<!whole>
  %m2 = commsched.compute "mm"(%m1) {flops = 1.0e9 : f64, commsched.runtime_ns = 2200000} : (!x) -> !x
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2, %m1, %m2 : !whole, !whole, !x, !x
}

// CHECK: Function=one {{.*}} 'ag1' stays alone: no other collective may travel with it
func.func @one(%a: !shard) -> !whole {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1", commsched.module = "layers.0"} : !shard -> !commsched.future<!whole>
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  return %w1 : !whole
}

// Input is no parameter, whatever its size.
// CHECK: Function=inputs {{.*}} 'ag1' stays alone: it is not part of fully sharded data parallelism
func.func @inputs(%a: !shard {commsched.role = "input"}, %b: !shard {commsched.role = "input"}) -> (!whole, !whole) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1", commsched.module = "layers.0"} : !shard -> !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2", commsched.module = "layers.0"} : !shard -> !commsched.future<!whole>
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2 : !whole, !whole
}
}
