// RUN: commsched-opt %s --allow-unregistered-dialect --commsched-estimate-runtime -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: grep test.ns %t.mlir | not grep -vE "runtime_ns = ([0-9]+) : i64.* test.ns = \1 : i64"

// The target moves one byte and does one f32 flop a nanosecond. Operations take as
// long as they are marked with.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.peak_tflops_f64" = 0.5e-3 : f64,
    "commsched.peak_tflops_f32" = 1.0e-3 : f64,
    "commsched.peak_tflops_f16" = 2.0e-3 : f64,
    "commsched.peak_tflops_bf16" = 4.0e-3 : f64,
    "commsched.peak_tflops_f8" = 8.0e-3 : f64,
    "commsched.peak_tops_i8" = 16.0e-3 : f64,
    "commsched.memory_gb_s" = 1 : i64,
    "commsched.compute_efficiency" = 1.0 : f64,
    "commsched.memory_efficiency" = 1.0 : f64,
    "commsched.kernel_launch_ns" = 0 : i64>>} {

commsched.group @dp size(4)
commsched.group @alone size(1)

func.func @costs(%unregistered_x: tensor<64xf32>, %unregistered_i: i32, %unregistered_t: !other.token,
                %odd_widths_x: tensor<8xi1>, %odd_widths_y: tensor<8xi4>, %pinned_x: tensor<64xf32>,
                %compute_x: tensor<64xf32>, %compute_types_f64: tensor<1xf64>, %compute_types_f32: tensor<1xf32>,
                %compute_types_f16: tensor<1xf16>, %compute_types_bf16: tensor<1xbf16>,
                %compute_types_f8: tensor<1xf8E4M3FN>, %compute_types_i8: tensor<1xi8>,
                %compute_types_i32: tensor<1xi32>, %compute_types_c: tensor<1xcomplex<f64>>,
                %buffer_views_x: memref<64xf32>, %buffer_views_y: memref<8xf32, strided<[1]>>) {
  // Nobody knows the operation: 4 x 64 bytes in, 2 x 64 bytes out. Scalars and
  // unknown types have no bytes.
  %unregistered_0 = "other.op"(%unregistered_x) {test.ns = 384} : (tensor<64xf32>) -> tensor<64xbf16>
  %unregistered_1 = "other.scalars"(%unregistered_i, %unregistered_t) {test.ns = 0} : (i32, !other.token) -> f32

  // Elements are padded to bytes.
  "other.op"(%odd_widths_x, %odd_widths_y) {test.ns = 16} : (tensor<8xi1>, tensor<8xi4>) -> ()

  // A pin is kept, and so is everything else about the operation.
  "other.op"(%pinned_x) {test.ns = 7, commsched.name = "a", commsched.runtime_ns = 7 : i64} : (tensor<64xf32>) -> ()

  // The larger of flops and bytes, and `bytes` and `alias` as they are stated.
  %compute_0 = commsched.compute "a"(%compute_x) {test.ns = 1000, flops = 1000.0 : f64} : (tensor<64xf32>) -> tensor<64xf32>
  %compute_1 = commsched.compute "b"(%compute_x) {test.ns = 512, flops = 10.0 : f64} : (tensor<64xf32>) -> tensor<64xf32>
  %compute_2 = commsched.compute "c"(%compute_x) {test.ns = 30, bytes = 30 : i64} : (tensor<64xf32>) -> tensor<64xf32>
  %compute_3 = commsched.compute "d"(%compute_x) {test.ns = 0, alias = 0 : i64} : (tensor<64xf32>) -> tensor<8x8xf32>

  // 4000 flops at the rate of the first operand's elements; types without a rate
  // of their own have that of f32.
  commsched.compute "f64"(%compute_types_f64) {test.ns = 8000, flops = 4.0e3 : f64} : (tensor<1xf64>) -> ()
  commsched.compute "f32"(%compute_types_f32) {test.ns = 4000, flops = 4.0e3 : f64} : (tensor<1xf32>) -> ()
  commsched.compute "f16"(%compute_types_f16) {test.ns = 2000, flops = 4.0e3 : f64} : (tensor<1xf16>) -> ()
  commsched.compute "bf16"(%compute_types_bf16) {test.ns = 1000, flops = 4.0e3 : f64} : (tensor<1xbf16>) -> ()
  commsched.compute "f8"(%compute_types_f8) {test.ns = 500, flops = 4.0e3 : f64} : (tensor<1xf8E4M3FN>) -> ()
  commsched.compute "i8"(%compute_types_i8) {test.ns = 250, flops = 4.0e3 : f64} : (tensor<1xi8>) -> ()
  commsched.compute "i32"(%compute_types_i32) {test.ns = 4000, flops = 4.0e3 : f64} : (tensor<1xi32>) -> ()
  commsched.compute "complex"(%compute_types_c) {test.ns = 8000, flops = 4.0e3 : f64} : (tensor<1xcomplex<f64>>) -> ()

  // Views of buffers move nothing; copies read and write 8 elements.
  %buffer_views_0 = memref.subview %buffer_views_x[0] [8] [1] {test.ns = 0} : memref<64xf32> to memref<8xf32, strided<[1]>>
  memref.copy %buffer_views_0, %buffer_views_y {test.ns = 64} : memref<8xf32, strided<[1]>> to memref<8xf32, strided<[1]>>
  return
}

// Flops past 2^63, and a time past 2^63.
func.func @saturated(%x: tensor<1xf64>) {
  commsched.compute "a"(%x) {test.ns = 9223372036854775807, flops = 1.0e30 : f64} : (tensor<1xf64>) -> ()
  "other.region"() ({
    "other.op"() {commsched.runtime_ns = 9223372036854775807 : i64} : () -> ()
    "other.op"() {commsched.runtime_ns = 1 : i64} : () -> ()
  }) {test.ns = 9223372036854775807} : () -> ()
  return
}

// A group of one does not communicate; waits, constants and terminators are
// free; storage is handed out, not touched.
// CHECK-LABEL: @communication
// CHECK: commsched.all_reduce {{.*}}commsched.runtime_ns = {{[1-9][0-9]*}} : i64
// CHECK: commsched.wait {{.*}}commsched.runtime_ns = 0 : i64
// CHECK: commsched.all_gather {{.*}}commsched.runtime_ns = 0 : i64
// CHECK: commsched.barrier {{.*}}commsched.runtime_ns = {{[1-9][0-9]*}} : i64
// CHECK: commsched.resize_storage {{.*}}commsched.runtime_ns = 0 : i64
// CHECK: commsched.fsdp_copy {{.*}}commsched.runtime_ns = 512 : i64
// CHECK-NEXT: return %{{.*}} : tensor<64xf32>
func.func @communication(%x: tensor<64xf32>, %m: memref<64xf32>) -> tensor<64xf32> {
  %0 = commsched.all_reduce %x on @dp reduction(sum) : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<64xf32>>
  %2 = commsched.all_gather %x on @alone dim(0) : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
  %3 = commsched.wait %2 : !commsched.future<tensor<64xf32>>
  commsched.barrier on @dp
  commsched.resize_storage %m bytes(256) : memref<64xf32>
  commsched.fsdp_copy %1 into %m : tensor<64xf32>, memref<64xf32>
  return %3 : tensor<64xf32>
}

}
