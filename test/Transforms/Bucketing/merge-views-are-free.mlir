// RUN: commsched-test-opt %s --test-merge-collectives --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=COPY
// RUN: commsched-test-opt %s --test-merge-collectives=mode=coalesced --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=COALESCED
// RUN: commsched-test-opt %s --test-merge-collectives=multi-dtype --commsched-estimate-runtime | FileCheck %s --check-prefix=TIMES

// The target moves a byte a nanosecond.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.memory_gb_s" = 1 : i64,
    "commsched.memory_efficiency" = 1 : i64,
    "commsched.kernel_launch_ns" = 0 : i64>>} {

commsched.group @dp size(4)

// 96 + 64 bytes of arguments, 24 + 16 delivered. The copy-in reads and writes
// all 160 bytes, and is there beside what is delivered while it is sent.
// COPY: "function":"scatters"{{.*}}"compute_time_ns":320,{{.*}}"peak_memory_bytes":360,
// COALESCED: "function":"scatters"{{.*}}"compute_time_ns":0,{{.*}}"peak_memory_bytes":200,
// TIMES-LABEL: @scatters
// TIMES: tensor.collapse_shape {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: commsched.chunk_cat {{.*}} {commsched.runtime_ns = 320 : i64}
// TIMES-COUNT-2: tensor.extract_slice {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.expand_shape {{.*}} {commsched.runtime_ns = 0 : i64}
func.func @scatters(%a: tensor<8x3xf32>, %b: tensor<1x16xf32>) -> (tensor<2x3xf32>, tensor<1x4xf32>) {
  %0 = commsched.reduce_scatter %a on @dp reduction(sum) dim(0) : tensor<8x3xf32> -> !commsched.future<tensor<2x3xf32>>
  %1 = commsched.reduce_scatter %b on @dp reduction(sum) dim(1) : tensor<1x16xf32> -> !commsched.future<tensor<1x4xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<2x3xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<1x4xf32>>
  return %2, %3 : tensor<2x3xf32>, tensor<1x4xf32>
}

// 4 + 24 + 4 bytes, twice.
// COPY: "function":"all_reduces"{{.*}}"compute_time_ns":64,{{.*}}"peak_memory_bytes":96,
// COALESCED: "function":"all_reduces"{{.*}}"compute_time_ns":0,{{.*}}"peak_memory_bytes":64,
// TIMES-LABEL: @all_reduces
// TIMES: tensor.expand_shape {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.collapse_shape {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.collapse_shape {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.concat {{.*}} {commsched.runtime_ns = 64 : i64}
// TIMES: tensor.extract_slice {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.collapse_shape {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.extract_slice {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.expand_shape {{.*}} {commsched.runtime_ns = 0 : i64}
func.func @all_reduces(%a: tensor<f32>, %b: tensor<2x3xf32>, %c: tensor<1x1xf32>) -> (tensor<f32>, tensor<2x3xf32>, tensor<1x1xf32>) {
  %0 = commsched.all_reduce %a on @dp reduction(sum) : tensor<f32> -> !commsched.future<tensor<f32>>
  %1 = commsched.all_reduce %b on @dp reduction(sum) : tensor<2x3xf32> -> !commsched.future<tensor<2x3xf32>>
  %2 = commsched.all_reduce %c on @dp reduction(sum) : tensor<1x1xf32> -> !commsched.future<tensor<1x1xf32>>
  %3 = commsched.wait %0 : !commsched.future<tensor<f32>>
  %4 = commsched.wait %1 : !commsched.future<tensor<2x3xf32>>
  %5 = commsched.wait %2 : !commsched.future<tensor<1x1xf32>>
  return %3, %4, %5 : tensor<f32>, tensor<2x3xf32>, tensor<1x1xf32>
}

// A copy-in writes 80 bytes of the 320 that it allocates, a copy-out all; the
// transposition copies 256 of them once more, for which there is a third
// buffer.
// COPY: "function":"gathers"{{.*}}"compute_time_ns":1312,{{.*}}"peak_memory_bytes":720,
// COALESCED: "function":"gathers"
// TIMES-LABEL: @gathers
// TIMES: commsched.all_gather_copy_in {{.*}} {commsched.runtime_ns = 160 : i64}
// TIMES: commsched.split_with_sizes_copy {{.*}} {commsched.runtime_ns = 640 : i64}
// TIMES: tensor.expand_shape {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.empty() {commsched.runtime_ns = 0 : i64}
// TIMES: linalg.transpose {{.*}} {commsched.runtime_ns = 512 : i64}
// TIMES: tensor.collapse_shape {{.*}} {commsched.runtime_ns = 0 : i64}
// TIMES: tensor.expand_shape {{.*}} {commsched.runtime_ns = 0 : i64}
func.func @gathers(%a: tensor<1x4xf32>, %b: tensor<2x8xf32>) -> (tensor<1x16xf32>, tensor<2x32xf32>) {
  %0 = commsched.all_gather %a on @dp dim(1) : tensor<1x4xf32> -> !commsched.future<tensor<1x16xf32>>
  %1 = commsched.all_gather %b on @dp dim(1) : tensor<2x8xf32> -> !commsched.future<tensor<2x32xf32>>
  %2 = commsched.wait %0 : !commsched.future<tensor<1x16xf32>>
  %3 = commsched.wait %1 : !commsched.future<tensor<2x32xf32>>
  return %2, %3 : tensor<1x16xf32>, tensor<2x32xf32>
}

// Bytes of several element types: 8 f32 are read and 8 bf16 written, 4 i8 read
// and written, and 80 bytes are copied out.
// TIMES-LABEL: @bytes
// TIMES: commsched.all_gather_copy_in {{.*}} packed([bf16, i8]) {commsched.runtime_ns = 56 : i64}
// TIMES: commsched.split_with_sizes_copy {{.*}} {commsched.runtime_ns = 160 : i64}
func.func @bytes(%a: tensor<8xf32>, %b: tensor<4xi8>) -> (tensor<32xbf16>, tensor<16xi8>) {
  %c = arith.truncf %a : tensor<8xf32> to tensor<8xbf16>
  %0 = commsched.all_gather %c on @dp dim(0) : tensor<8xbf16> -> !commsched.future<tensor<32xbf16>>
  %1 = commsched.all_gather %b on @dp dim(0) : tensor<4xi8> -> !commsched.future<tensor<16xi8>>
  %2 = commsched.wait %0 : !commsched.future<tensor<32xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<16xi8>>
  return %2, %3 : tensor<32xbf16>, tensor<16xi8>
}

}
