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

// 4 x 16 x 8 multiplications and as many additions.
// 4 x (4x8 + 8x16 + 4x16 read + 4x16 written) bytes.
// FLOPS-LABEL: @matmul
// FLOPS: linalg.matmul {commsched.runtime_ns = 1024 : i64}
// BYTES-LABEL: @matmul
// BYTES: linalg.matmul {commsched.runtime_ns = 1152 : i64}
func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>)
                     outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// The same on buffers: there is no result to count.
// FLOPS-LABEL: @matmul_on_buffers
// FLOPS: linalg.matmul {commsched.runtime_ns = 1024 : i64}
// BYTES-LABEL: @matmul_on_buffers
// BYTES: linalg.matmul {commsched.runtime_ns = 1152 : i64}
func.func @matmul_on_buffers(%a: memref<4x8xf32>, %b: memref<8x16xf32>, %c: memref<4x16xf32>) {
  linalg.matmul ins(%a, %b : memref<4x8xf32>, memref<8x16xf32>) outs(%c : memref<4x16xf32>)
  return
}

// 2 x (4 x 16 x 8) additions and multiplications, in each of 3 batches.
// FLOPS-LABEL: @batch_matmul
// FLOPS: linalg.batch_matmul {commsched.runtime_ns = 3072 : i64}
// BYTES-LABEL: @batch_matmul
// BYTES: linalg.batch_matmul {commsched.runtime_ns = 3456 : i64}
func.func @batch_matmul(%a: tensor<3x4x8xf32>, %b: tensor<3x8x16xf32>, %c: tensor<3x4x16xf32>) -> tensor<3x4x16xf32> {
  %0 = linalg.batch_matmul ins(%a, %b : tensor<3x4x8xf32>, tensor<3x8x16xf32>)
                           outs(%c : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>
  return %0 : tensor<3x4x16xf32>
}

// FLOPS-LABEL: @contract
// FLOPS: linalg.contract {{.*}}commsched.runtime_ns = 1024 : i64
// BYTES-LABEL: @contract
// BYTES: linalg.contract {{.*}}commsched.runtime_ns = 1152 : i64
func.func @contract(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = linalg.contract
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// 2 x (6x6x5 results) x (3x3x2 weights each).
// 4 x (8x8x2 + 3x3x2x5 + 2 x 6x6x5) bytes.
// FLOPS-LABEL: @conv
// FLOPS: linalg.conv_2d_nhwc_hwcf {{.*}}commsched.runtime_ns = 6480 : i64
// BYTES-LABEL: @conv
// BYTES: linalg.conv_2d_nhwc_hwcf {{.*}}commsched.runtime_ns = 2312 : i64
func.func @conv(%x: tensor<1x8x8x2xf32>, %w: tensor<3x3x2x5xf32>, %y: tensor<1x6x6x5xf32>) -> tensor<1x6x6x5xf32> {
  %0 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x8x8x2xf32>, tensor<3x3x2x5xf32>)
                                outs(%y : tensor<1x6x6x5xf32>) -> tensor<1x6x6x5xf32>
  return %0 : tensor<1x6x6x5xf32>
}

// One addition for each of 4x4 results and 2x2 places of the window. The
// window has a shape but is not read: 4 x (8x8 + 2 x 4x4) bytes.
// FLOPS-LABEL: @pooling
// FLOPS: linalg.pooling_nhwc_sum {{.*}}commsched.runtime_ns = 64 : i64
// BYTES-LABEL: @pooling
// BYTES: linalg.pooling_nhwc_sum {{.*}}commsched.runtime_ns = 384 : i64
func.func @pooling(%x: tensor<1x8x8x1xf32>, %window: tensor<2x2xf32>, %y: tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32> {
  %0 = linalg.pooling_nhwc_sum {strides = dense<2> : tensor<2xi64>}
      ins(%x, %window : tensor<1x8x8x1xf32>, tensor<2x2xf32>)
      outs(%y : tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  return %0 : tensor<1x4x4x1xf32>
}

// A conversion is no arithmetic. 64 floats are read and 64 halves only written:
// 64 x (4 + 2) bytes. The operations of the body get no times of their own.
// FLOPS-LABEL: @conversion
// FLOPS: linalg.generic {{.*}}commsched.runtime_ns = 0 : i64} {
// FLOPS-NOT: runtime_ns
// FLOPS: linalg.yield
// BYTES-LABEL: @conversion
// BYTES: linalg.generic {{.*}}commsched.runtime_ns = 384 : i64
func.func @conversion(%x: tensor<64xf32>, %y: tensor<64xf16>) -> tensor<64xf16> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%y : tensor<64xf16>) {
  ^bb0(%in: f32, %out: f16):
    %narrow = arith.truncf %in : f32 to f16
    linalg.yield %narrow : f16
  } -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// A product, a comparison and a choice for each of 64 elements; the constant
// and the arithmetic of indices do not count.
// FLOPS-LABEL: @arithmetic_of_a_body
// FLOPS: linalg.generic {{.*}}commsched.runtime_ns = 192 : i64
// BYTES-LABEL: @arithmetic_of_a_body
// BYTES: linalg.generic {{.*}}commsched.runtime_ns = 512 : i64
func.func @arithmetic_of_a_body(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%y : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %zero = arith.constant 0.0 : f32
    %i = linalg.index 0 : index
    %j = arith.addi %i, %i : index
    %square = arith.mulf %in, %in : f32
    %less = arith.cmpf olt, %in, %zero : f32
    %chosen = arith.select %less, %zero, %square : f32
    linalg.yield %chosen : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Written once: 4 x 64. Read and written: 8 x 64.
// FLOPS-LABEL: @movement
// FLOPS-COUNT-3: commsched.runtime_ns = 0 : i64
// BYTES-LABEL: @movement
// BYTES: linalg.fill {commsched.runtime_ns = 256 : i64}
// BYTES: linalg.copy {commsched.runtime_ns = 512 : i64}
// BYTES: linalg.transpose {{.*}}commsched.runtime_ns = 512 : i64
// BYTES: linalg.broadcast {{.*}}commsched.runtime_ns = 288 : i64
func.func @movement(%f: f32, %a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %row: tensor<8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = linalg.fill ins(%f : f32) outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.copy ins(%a : tensor<8x8xf32>) outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.transpose ins(%a : tensor<8x8xf32>) outs(%b : tensor<8x8xf32>) permutation = [1, 0]
  // 4 x (8 + 64).
  %3 = linalg.broadcast ins(%row : tensor<8xf32>) outs(%b : tensor<8x8xf32>) dimensions = [0]
  return %0, %1, %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// 64 additions; 4 x (64 + 8 read + 8 written) bytes.
// FLOPS-LABEL: @reduce
// FLOPS: linalg.reduce {{.*}}commsched.runtime_ns = 64 : i64
// BYTES-LABEL: @reduce
// BYTES: linalg.reduce {{.*}}commsched.runtime_ns = 320 : i64
func.func @reduce(%x: tensor<8x8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x8xf32>) outs(%y : tensor<8xf32>) dimensions = [1]
  return %0 : tensor<8xf32>
}

// 5 flops for each of 64 elements, which are read once and written once.
// FLOPS-LABEL: @softmax
// FLOPS: linalg.softmax {commsched.runtime_ns = 320 : i64}
// BYTES-LABEL: @softmax
// BYTES: linalg.softmax {commsched.runtime_ns = 512 : i64}
func.func @softmax(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = linalg.softmax dimension(1) ins(%x : tensor<8x8xf32>) outs(%y : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// 64 elements, read and written: 4 x 128 bytes.
// BYTES-LABEL: @relayout
// BYTES: linalg.pack {{.*}}commsched.runtime_ns = 512 : i64
// BYTES: linalg.unpack {{.*}}commsched.runtime_ns = 512 : i64
func.func @relayout(%x: tensor<8x8xf32>, %p: tensor<4x4x2x2xf32>) -> tensor<8x8xf32> {
  %0 = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %p
      : tensor<8x8xf32> -> tensor<4x4x2x2xf32>
  %1 = linalg.unpack %0 inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %x
      : tensor<4x4x2x2xf32> -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// A size that is not static leaves the operation unpinned.
// FLOPS-LABEL: @dynamic
// FLOPS-NOT: runtime_ns
// FLOPS: linalg.matmul ins
// BYTES-LABEL: @dynamic
// BYTES: linalg.matmul ins
func.func @dynamic(%a: tensor<?x8xf32>, %b: tensor<8x16xf32>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x16xf32>)
                     outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}

}
