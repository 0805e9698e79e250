// RUN: sed -e s/PEAK/1.0e-3/ -e s/BANDWIDTH/1.0e6/ %s | commsched-opt --commsched-estimate-runtime | FileCheck %s --check-prefix=FLOPS
// RUN: sed -e s/PEAK/1.0e6/ -e s/BANDWIDTH/1.0/ %s | commsched-opt --commsched-estimate-runtime | FileCheck %s --check-prefix=BYTES

// The first target does one flop a nanosecond and moves bytes for nothing; the
// second moves one byte a nanosecond and computes for nothing. So the times are
// the flops and the bytes themselves.

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.peak_tflops_f32" = PEAK : f64,
    "commsched.memory_gb_s" = BANDWIDTH : f64,
    "commsched.compute_efficiency" = 1 : i64,
    "commsched.memory_efficiency" = 1 : i64,
    "commsched.kernel_launch_ns" = 0 : i64>>} {

// One flop for each of 64 elements; 4 x (64 + 64 + 64) and 4 x (64 + 64) bytes.
// FLOPS-LABEL: @elementwise
// FLOPS: arith.addf {{.*}}commsched.runtime_ns = 64 : i64
// FLOPS: math.exp {{.*}}commsched.runtime_ns = 64 : i64
// FLOPS: arith.muli {{.*}}commsched.runtime_ns = 64 : i64
// BYTES-LABEL: @elementwise
// BYTES: arith.addf {{.*}}commsched.runtime_ns = 768 : i64
// BYTES: math.exp {{.*}}commsched.runtime_ns = 512 : i64
// BYTES: arith.muli {{.*}}commsched.runtime_ns = 768 : i64
func.func @elementwise(%x: tensor<8x8xf32>, %i: tensor<8x8xi32>) -> (tensor<8x8xf32>, tensor<8x8xi32>) {
  %0 = arith.addf %x, %x : tensor<8x8xf32>
  %1 = math.exp %0 : tensor<8x8xf32>
  %2 = arith.muli %i, %i : tensor<8x8xi32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xi32>
}

// Only bytes: 64 x (4 + 2).
// FLOPS-LABEL: @conversion
// FLOPS: arith.truncf {{.*}}commsched.runtime_ns = 0 : i64
// BYTES-LABEL: @conversion
// BYTES: arith.truncf {{.*}}commsched.runtime_ns = 384 : i64
func.func @conversion(%x: tensor<8x8xf32>) -> tensor<8x8xbf16> {
  %0 = arith.truncf %x : tensor<8x8xf32> to tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// Constants are there before the program starts; scalars are for the host.
// FLOPS-LABEL: @free
// FLOPS: arith.constant {commsched.runtime_ns = 0 : i64}
// FLOPS: arith.addi {{.*}}commsched.runtime_ns = 0 : i64
// BYTES-LABEL: @free
// BYTES: arith.constant {commsched.runtime_ns = 0 : i64}
// BYTES: arith.addi {{.*}}commsched.runtime_ns = 0 : i64
func.func @free(%i: index) -> (tensor<8x8xf32>, index) {
  %0 = arith.constant dense<1.0> : tensor<8x8xf32>
  %1 = arith.addi %i, %i : index
  return %0, %1 : tensor<8x8xf32>, index
}

// BYTES-LABEL: @dynamic
// BYTES: arith.addf %{{[a-z0-9]+}}, %{{[a-z0-9]+}} : tensor<?xf32>
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

}
