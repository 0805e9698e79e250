// RUN: sed -e s/PEAK/1.0e6/ -e s/BANDWIDTH/1.0/ %s | commsched-opt --commsched-estimate-runtime | FileCheck %s --check-prefix=BYTES

// The target moves one byte a nanosecond, so that the times are the bytes.

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.peak_tflops_f32" = PEAK : f64,
    "commsched.memory_gb_s" = BANDWIDTH : f64,
    "commsched.compute_efficiency" = 1 : i64,
    "commsched.memory_efficiency" = 1 : i64,
    "commsched.kernel_launch_ns" = 0 : i64>>} {

// BYTES-LABEL: @views
// BYTES: bufferization.to_tensor {{.*}}commsched.runtime_ns = 0 : i64
// BYTES: bufferization.to_buffer {{.*}}commsched.runtime_ns = 0 : i64
func.func @views(%m: memref<8x8xf32>, %t: tensor<8x8xf32>) -> (tensor<8x8xf32>, memref<8x8xf32>) {
  %0 = bufferization.to_tensor %m : memref<8x8xf32> to tensor<8x8xf32>
  %1 = bufferization.to_buffer %t : tensor<8x8xf32> to memref<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, memref<8x8xf32>
}

// Each reads and writes 64 elements: 2 x 4 x 64.
// BYTES-LABEL: @copies
// BYTES: bufferization.clone {{.*}}commsched.runtime_ns = 512 : i64
// BYTES: bufferization.materialize_in_destination {{.*}}commsched.runtime_ns = 512 : i64
// BYTES: bufferization.materialize_in_destination {{.*}}commsched.runtime_ns = 512 : i64
// BYTES: bufferization.alloc_tensor() copy({{.*}}commsched.runtime_ns = 512 : i64
func.func @copies(%m: memref<8x8xf32>, %s: tensor<8x8xf32>, %t: tensor<8x8xf32>)
    -> (memref<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = bufferization.clone %m : memref<8x8xf32> to memref<8x8xf32>
  %1 = bufferization.materialize_in_destination %s in %t : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  bufferization.materialize_in_destination %s in restrict writable %m : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  %2 = bufferization.alloc_tensor() copy(%s) : tensor<8x8xf32>
  return %0, %1, %2 : memref<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// Memory that is only handed out is not touched; nor do buffers need a model
// of their own for that.
// BYTES-LABEL: @allocation
// BYTES: bufferization.alloc_tensor() {commsched.runtime_ns = 0 : i64}
// BYTES: bufferization.dealloc_tensor {{.*}}commsched.runtime_ns = 0 : i64
// BYTES: memref.alloc() {commsched.runtime_ns = 0 : i64}
// BYTES: memref.dealloc {{.*}}commsched.runtime_ns = 0 : i64
func.func @allocation() {
  %0 = bufferization.alloc_tensor() : tensor<8x8xf32>
  bufferization.dealloc_tensor %0 : tensor<8x8xf32>
  %1 = memref.alloc() : memref<8x8xf32>
  memref.dealloc %1 : memref<8x8xf32>
  return
}

}
