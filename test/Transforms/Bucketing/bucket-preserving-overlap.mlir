// DEFINE: %{merge} = commsched-opt %t.mlir \
// DEFINE:   --commsched-report="format=json output=%t.before" \
// DEFINE:   --commsched-bucket-all-gather=preserve-overlap \
// DEFINE:   --commsched-report="format=json output=%t.after"
// DEFINE: %{check-steps} = %python %S/../Inputs/check_step_times.py %t.before %t.after

// What computation hides, it hides together as well, or else it stays as it is.
// A gather takes 0.1 ms and 1 ms for each MiB of a rank, of which there is one:
// two together take nearly twice as long.
// RUN: cp %s %t.mlir
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,BYTES
// RUN: %{check-steps}

// Threads make no difference.
// RUN: %{merge} > %t.once
// RUN: %{merge} --mlir-disable-threading | diff %t.once -

// Or it takes 1.1 ms whatever its size: two together take no longer.
// RUN: sed -e "s/!shard = .*/!shard = tensor<64xf32>/" \
// RUN:   -e "s/!whole = .*/!whole = tensor<128xf32>/" -e "s/88\.2/1088.2/" %s > %t.mlir
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,LAUNCH
// RUN: %{check-steps}

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

// Each is hidden by a product, and both together by both.
// CHECK-LABEL: func.func @both_hidden(
// CHECK: "ag1+ag2"
// CHECK-NEXT: "mm1"
// CHECK-NEXT: "mm2"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.split_with_sizes_copy
// CHECK-NEXT: return
func.func @both_hidden(%a: !shard, %b: !shard, %x: !x) -> (!whole, !whole, !x, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %m2 = commsched.compute "mm2"(%x) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2, %m1, %m2 : !whole, !whole, !x, !x
}

// The second product hides a part of each.
// CHECK-LABEL: func.func @shared_hiding(
// CHECK: "ag1+ag2"
// CHECK-NEXT: "mm1"
// CHECK-NEXT: "mm2"
// CHECK-NEXT: "mm3"
// CHECK-NEXT: commsched.wait
func.func @shared_hiding(%a: !shard, %b: !shard, %x: !x) -> (!whole, !whole, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 750000, flops = 1.0e9 : f64} : (!x) -> !x
  %m2 = commsched.compute "mm2"(%m1) {commsched.runtime_ns = 750000, flops = 1.0e9 : f64} : (!x) -> !x
  %m3 = commsched.compute "mm3"(%m2) {commsched.runtime_ns = 750000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2, %m3 : !whole, !whole, !x
}

// Waiting for the second of a stream is waiting for the first as well.
// CHECK-LABEL: func.func @second_first(
// CHECK: "ag1+ag2"
// CHECK-NEXT: "mm2"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.split_with_sizes_copy
// CHECK-NEXT: "mm1"
func.func @second_first(%a: !shard, %b: !shard, %x: !x) -> (!whole, !x, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %m2 = commsched.compute "mm2"(%x) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%m2, %w2) {commsched.runtime_ns = 1100000, flops = 1.0e20 : f64} : (!x, !whole) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  return %w1, %m1, %m2 : !whole, !x, !x
}

// But users of the first would have to wait for the second, too.
// CHECK-LABEL: func.func @first_first(
// BYTES-NEXT: "ag1"
// BYTES-NEXT: "ag2"
// BYTES-NEXT: "mm1"
// BYTES-NEXT: commsched.wait
// BYTES-NEXT: "mm2"
// BYTES-NEXT: commsched.wait
// LAUNCH: "ag1+ag2"
// LAUNCH-NEXT: "mm1"
// LAUNCH-NEXT: commsched.wait
// LAUNCH-NEXT: commsched.split_with_sizes_copy
// LAUNCH-NEXT: "mm2"
// LAUNCH-NEXT: return
func.func @first_first(%a: !shard, %b: !shard, %x: !x) -> (!whole, !x, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %m2 = commsched.compute "mm2"(%m1, %w1) {commsched.runtime_ns = 1100000, flops = 1.0e20 : f64} : (!x, !whole) -> !x
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w2, %m1, %m2 : !whole, !x, !x
}

// What would hide the second needs the first.
// CHECK-LABEL: func.func @needs_the_first(
// BYTES-NEXT: "ag1"
// BYTES-NEXT: "mm1"
// BYTES-NEXT: commsched.wait
// BYTES-NEXT: "ag2"
// BYTES-NEXT: "mm2"
// LAUNCH: "ag1+ag2"
// LAUNCH-NEXT: "mm1"
// LAUNCH-NEXT: commsched.wait
// LAUNCH-NEXT: commsched.split_with_sizes_copy
// LAUNCH-NEXT: "mm2"
func.func @needs_the_first(%a: !shard, %b: !shard, %x: !x) -> (!whole, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %m2 = commsched.compute "mm2"(%m1, %w1) {commsched.runtime_ns = 1100000, flops = 1.0e20 : f64} : (!x, !whole) -> !x
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w2, %m2 : !whole, !x
}

// What hides the first is needed by the second: together they would start only
// after it.
// CHECK-LABEL: func.func @made_of_what_hides(
// CHECK-NEXT: "ag1"
// CHECK-NEXT: "mm1"
// CHECK-NEXT: "mul"
// CHECK-NEXT: "ag2"
func.func @made_of_what_hides(%a: !shard) -> (!whole, !whole) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%a) {commsched.runtime_ns = 1100000, flops = 1.0e20 : f64} : (!shard) -> !shard
  %b = commsched.compute "mul"(%m1) {commsched.runtime_ns = 1000} : (!shard) -> !shard
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2 : !whole, !whole
}

// Another collective of the stream stands between them, with its own product.
// CHECK-LABEL: func.func @hidden_between(
// BYTES-NEXT: "ag1"
// BYTES-NEXT: "mm1"
// BYTES-NEXT: commsched.wait
// BYTES-NEXT: "rs"
// BYTES-NEXT: "mm2"
// BYTES-NEXT: commsched.wait
// BYTES-NEXT: "ag2"
// BYTES-NEXT: "mm3"
// LAUNCH: "ag1+ag2"
// LAUNCH-NEXT: "mm1"
// LAUNCH-NEXT: "rs"
// LAUNCH-NEXT: commsched.wait
// LAUNCH-NEXT: commsched.split_with_sizes_copy
// LAUNCH-NEXT: "mm2"
// LAUNCH-NEXT: commsched.wait
// LAUNCH-NEXT: "mm3"
func.func @hidden_between(%a: !shard, %b: !shard, %c: !whole, %x: !x) -> (!whole, !whole, !shard, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %f0 = commsched.reduce_scatter %c on @g reduction(sum) dim(0) {commsched.name = "rs"} : !whole -> !commsched.future<!shard>
  %m2 = commsched.compute "mm2"(%m1, %w1) {commsched.runtime_ns = 1100000, flops = 1.0e20 : f64} : (!x, !whole) -> !x
  %w0 = commsched.wait %f0 : !commsched.future<!shard>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %m3 = commsched.compute "mm3"(%m2) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2, %w0, %m3 : !whole, !whole, !shard, !x
}

// It may be exposed as well.
// CHECK-LABEL: func.func @exposed_between(
// BYTES-NEXT: "ag1"
// BYTES-NEXT: "mm1"
// BYTES-NEXT: commsched.wait
// BYTES-NEXT: "rs"
// BYTES-NEXT: commsched.wait
// BYTES-NEXT: "mm2"
// BYTES-NEXT: "ag2"
// BYTES-NEXT: "mm3"
// LAUNCH: "ag1+ag2"
// LAUNCH-NEXT: "mm1"
// LAUNCH-NEXT: "rs"
// LAUNCH: "mm2"
// LAUNCH-NEXT: "mm3"
// LAUNCH-NEXT: return
func.func @exposed_between(%a: !shard, %b: !shard, %c: !whole, %x: !x) -> (!whole, !whole, !shard, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %f0 = commsched.reduce_scatter %c on @g reduction(sum) dim(0) {commsched.name = "rs"} : !whole -> !commsched.future<!shard>
  %w0 = commsched.wait %f0 : !commsched.future<!shard>
  %m2 = commsched.compute "mm2"(%m1, %w1) {commsched.runtime_ns = 1100000, flops = 1.0e20 : f64} : (!x, !whole) -> !x
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %m3 = commsched.compute "mm3"(%m2) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  return %w1, %w2, %w0, %m3 : !whole, !whole, !shard, !x
}

// Two long products hide four.
// CHECK-LABEL: func.func @four_hidden(
// CHECK: "ag1+ag2+ag3+ag4"
// CHECK-NEXT: "mm1"
// CHECK-NEXT: "mm2"
// CHECK-NEXT: commsched.wait
func.func @four_hidden(%a: !shard, %b: !shard, %c: !shard, %d: !shard, %x: !x) -> (!whole, !whole, !whole, !whole, !x, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %f3 = commsched.all_gather %c on @g dim(0) {commsched.name = "ag3"} : !shard -> !commsched.future<!whole>
  %f4 = commsched.all_gather %d on @g dim(0) {commsched.name = "ag4"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 2200000, flops = 1.0e9 : f64} : (!x) -> !x
  %m2 = commsched.compute "mm2"(%x) {commsched.runtime_ns = 2200000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  %w3 = commsched.wait %f3 : !commsched.future<!whole>
  %w4 = commsched.wait %f4 : !commsched.future<!whole>
  return %w1, %w2, %w3, %w4, %m1, %m2 : !whole, !whole, !whole, !whole, !x, !x
}

// The second product needs two of them: a bucket of four would not be there by
// then, so it is split.
// CHECK-LABEL: func.func @two_needed_earlier(
// BYTES: "ag1+ag2"
// BYTES: "ag3+ag4"
// BYTES-NEXT: "mm1"
// BYTES-NEXT: commsched.wait
// BYTES-NEXT: commsched.split_with_sizes_copy
// BYTES-NEXT: "mm2"
// BYTES-NEXT: commsched.wait
// BYTES-NEXT: commsched.split_with_sizes_copy
// LAUNCH: "ag1+ag2+ag3+ag4"
// LAUNCH-NEXT: "mm1"
// LAUNCH-NEXT: commsched.wait
// LAUNCH-NEXT: commsched.split_with_sizes_copy
// LAUNCH-NEXT: "mm2"
func.func @two_needed_earlier(%a: !shard, %b: !shard, %c: !shard, %d: !shard, %x: !x) -> (!whole, !whole, !whole, !whole, !x, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %f3 = commsched.all_gather %c on @g dim(0) {commsched.name = "ag3"} : !shard -> !commsched.future<!whole>
  %f4 = commsched.all_gather %d on @g dim(0) {commsched.name = "ag4"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 2200000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  %m2 = commsched.compute "mm2"(%w1, %w2) {commsched.runtime_ns = 2200000, flops = 1.0e20 : f64} : (!whole, !whole) -> !x
  %w3 = commsched.wait %f3 : !commsched.future<!whole>
  %w4 = commsched.wait %f4 : !commsched.future<!whole>
  return %w1, %w2, %w3, %w4, %m1, %m2 : !whole, !whole, !whole, !whole, !x, !x
}

// One product hides one of three; it hides as much of all together.
// CHECK-LABEL: func.func @hidden_with_exposed(
// CHECK: "ag1+ag2+ag3"
// CHECK-NEXT: "mm1"
// CHECK-NEXT: commsched.wait
func.func @hidden_with_exposed(%a: !shard, %b: !shard, %c: !shard, %x: !x) -> (!whole, !whole, !whole, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %f3 = commsched.all_gather %c on @g dim(0) {commsched.name = "ag3"} : !shard -> !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 1100000, flops = 1.0e9 : f64} : (!x) -> !x
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  %w3 = commsched.wait %f3 : !commsched.future<!whole>
  return %w1, %w2, %w3, %m1 : !whole, !whole, !whole, !x
}

// As a program is traced: hidden only because the wait moves to the first use.
// CHECK-LABEL: func.func @waited_for_at_once(
// CHECK: "ag1+ag2"
// CHECK-NEXT: "mm1"
// CHECK-NEXT: "mm2"
// CHECK-NEXT: "mm3"
// CHECK-NEXT: commsched.wait
func.func @waited_for_at_once(%a: !shard, %b: !shard, %x: !x) -> (!whole, !whole, !x) {
  %f1 = commsched.all_gather %a on @g dim(0) {commsched.name = "ag1"} : !shard -> !commsched.future<!whole>
  %w1 = commsched.wait %f1 : !commsched.future<!whole>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "ag2"} : !shard -> !commsched.future<!whole>
  %w2 = commsched.wait %f2 : !commsched.future<!whole>
  %m1 = commsched.compute "mm1"(%x) {commsched.runtime_ns = 550000, flops = 1.0e9 : f64} : (!x) -> !x
  %m2 = commsched.compute "mm2"(%m1) {commsched.runtime_ns = 550000, flops = 1.0e9 : f64} : (!x) -> !x
  %m3 = commsched.compute "mm3"(%m2) {commsched.runtime_ns = 550000, flops = 1.0e9 : f64} : (!x) -> !x
  return %w1, %w2, %m3 : !whole, !whole, !x
}
}
