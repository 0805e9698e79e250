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

func.func @costs(%matmul_a: tensor<4x8xf32>, %matmul_b: tensor<8x16xf32>, %matmul_c: tensor<4x16xf32>,
                %matmul_on_buffers_a: memref<4x8xf32>, %matmul_on_buffers_b: memref<8x16xf32>,
                %matmul_on_buffers_c: memref<4x16xf32>, %batch_matmul_a: tensor<3x4x8xf32>,
                %batch_matmul_b: tensor<3x8x16xf32>, %batch_matmul_c: tensor<3x4x16xf32>,
                %contract_a: tensor<4x8xf32>, %contract_b: tensor<8x16xf32>, %contract_c: tensor<4x16xf32>,
                %conv_x: tensor<1x8x8x2xf32>, %conv_w: tensor<3x3x2x5xf32>, %conv_y: tensor<1x6x6x5xf32>,
                %pooling_x: tensor<1x8x8x1xf32>, %pooling_window: tensor<2x2xf32>, %pooling_y: tensor<1x4x4x1xf32>,
                %arithmetic_of_a_body_x: tensor<64xf32>, %arithmetic_of_a_body_y: tensor<64xf32>, %movement_f: f32,
                %movement_a: tensor<8x8xf32>, %movement_b: tensor<8x8xf32>, %movement_row: tensor<8xf32>,
                %reduce_x: tensor<8x8xf32>, %reduce_y: tensor<8xf32>, %softmax_x: tensor<8x8xf32>,
                %softmax_y: tensor<8x8xf32>, %relayout_x: tensor<8x8xf32>, %relayout_p: tensor<4x4x2x2xf32>) {
  // 4 x 16 x 8 multiplications and as many additions.
  // 4 x (4x8 + 8x16 + 4x16 read + 4x16 written) bytes.
  // FLOPS: linalg.matmul {commsched.runtime_ns = 1024 : i64}
  // BYTES: linalg.matmul {commsched.runtime_ns = 1152 : i64}
  %matmul_0 = linalg.matmul ins(%matmul_a, %matmul_b : tensor<4x8xf32>, tensor<8x16xf32>)
                     outs(%matmul_c : tensor<4x16xf32>) -> tensor<4x16xf32>

  // The same on buffers: there is no result to count.
  // FLOPS: linalg.matmul {commsched.runtime_ns = 1024 : i64}
  // BYTES: linalg.matmul {commsched.runtime_ns = 1152 : i64}
  linalg.matmul ins(%matmul_on_buffers_a, %matmul_on_buffers_b : memref<4x8xf32>, memref<8x16xf32>) outs(%matmul_on_buffers_c : memref<4x16xf32>)

  // 2 x (4 x 16 x 8) additions and multiplications, in each of 3 batches.
  // FLOPS: linalg.batch_matmul {commsched.runtime_ns = 3072 : i64}
  // BYTES: linalg.batch_matmul {commsched.runtime_ns = 3456 : i64}
  %batch_matmul_0 = linalg.batch_matmul ins(%batch_matmul_a, %batch_matmul_b : tensor<3x4x8xf32>, tensor<3x8x16xf32>)
                           outs(%batch_matmul_c : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>

  // FLOPS: linalg.contract {{.*}}commsched.runtime_ns = 1024 : i64
  // BYTES: linalg.contract {{.*}}commsched.runtime_ns = 1152 : i64
  %contract_0 = linalg.contract
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%contract_a, %contract_b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%contract_c : tensor<4x16xf32>) -> tensor<4x16xf32>

  // 2 x (6x6x5 results) x (3x3x2 weights each).
  // 4 x (8x8x2 + 3x3x2x5 + 2 x 6x6x5) bytes.
  // FLOPS: linalg.conv_2d_nhwc_hwcf {{.*}}commsched.runtime_ns = 6480 : i64
  // BYTES: linalg.conv_2d_nhwc_hwcf {{.*}}commsched.runtime_ns = 2312 : i64
  %conv_0 = linalg.conv_2d_nhwc_hwcf ins(%conv_x, %conv_w : tensor<1x8x8x2xf32>, tensor<3x3x2x5xf32>)
                                outs(%conv_y : tensor<1x6x6x5xf32>) -> tensor<1x6x6x5xf32>

  // One addition for each of 4x4 results and 2x2 places of the window. The
  // window has a shape but is not read: 4 x (8x8 + 2 x 4x4) bytes.
  // FLOPS: linalg.pooling_nhwc_sum {{.*}}commsched.runtime_ns = 64 : i64
  // BYTES: linalg.pooling_nhwc_sum {{.*}}commsched.runtime_ns = 384 : i64
  %pooling_0 = linalg.pooling_nhwc_sum {strides = dense<2> : tensor<2xi64>}
      ins(%pooling_x, %pooling_window : tensor<1x8x8x1xf32>, tensor<2x2xf32>)
      outs(%pooling_y : tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>

  // A product, a comparison and a choice for each of 64 elements; the constant
  // and the arithmetic of indices do not count.
  // FLOPS: linalg.generic {{.*}}commsched.runtime_ns = 192 : i64
  // BYTES: linalg.generic {{.*}}commsched.runtime_ns = 512 : i64
  %arithmetic_of_a_body_0 = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%arithmetic_of_a_body_x : tensor<64xf32>) outs(%arithmetic_of_a_body_y : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %arithmetic_of_a_body_zero = arith.constant 0.0 : f32
    %arithmetic_of_a_body_i = linalg.index 0 : index
    %arithmetic_of_a_body_j = arith.addi %arithmetic_of_a_body_i, %arithmetic_of_a_body_i : index
    %arithmetic_of_a_body_square = arith.mulf %in, %in : f32
    %arithmetic_of_a_body_less = arith.cmpf olt, %in, %arithmetic_of_a_body_zero : f32
    %arithmetic_of_a_body_chosen = arith.select %arithmetic_of_a_body_less, %arithmetic_of_a_body_zero, %arithmetic_of_a_body_square : f32
    linalg.yield %arithmetic_of_a_body_chosen : f32
  } -> tensor<64xf32>

  // Written once: 4 x 64. Read and written: 8 x 64.
  // FLOPS-COUNT-3: commsched.runtime_ns = 0 : i64
  // BYTES: linalg.fill {commsched.runtime_ns = 256 : i64}
  // BYTES: linalg.copy {commsched.runtime_ns = 512 : i64}
  // BYTES: linalg.transpose {{.*}}commsched.runtime_ns = 512 : i64
  // BYTES: linalg.broadcast {{.*}}commsched.runtime_ns = 288 : i64
  %movement_0 = linalg.fill ins(%movement_f : f32) outs(%movement_b : tensor<8x8xf32>) -> tensor<8x8xf32>
  %movement_1 = linalg.copy ins(%movement_a : tensor<8x8xf32>) outs(%movement_b : tensor<8x8xf32>) -> tensor<8x8xf32>
  %movement_2 = linalg.transpose ins(%movement_a : tensor<8x8xf32>) outs(%movement_b : tensor<8x8xf32>) permutation = [1, 0]
  // 4 x (8 + 64).
  %movement_3 = linalg.broadcast ins(%movement_row : tensor<8xf32>) outs(%movement_b : tensor<8x8xf32>) dimensions = [0]

  // 64 additions; 4 x (64 + 8 read + 8 written) bytes.
  // FLOPS: linalg.reduce {{.*}}commsched.runtime_ns = 64 : i64
  // BYTES: linalg.reduce {{.*}}commsched.runtime_ns = 320 : i64
  %reduce_0 = linalg.reduce { arith.addf } ins(%reduce_x : tensor<8x8xf32>) outs(%reduce_y : tensor<8xf32>) dimensions = [1]

  // 5 flops for each of 64 elements, which are read once and written once.
  // FLOPS: linalg.softmax {commsched.runtime_ns = 320 : i64}
  // BYTES: linalg.softmax {commsched.runtime_ns = 512 : i64}
  %softmax_0 = linalg.softmax dimension(1) ins(%softmax_x : tensor<8x8xf32>) outs(%softmax_y : tensor<8x8xf32>) -> tensor<8x8xf32>

  // 64 elements, read and written: 4 x 128 bytes.
  // BYTES: linalg.pack {{.*}}commsched.runtime_ns = 512 : i64
  // BYTES: linalg.unpack {{.*}}commsched.runtime_ns = 512 : i64
  %relayout_0 = linalg.pack %relayout_x inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %relayout_p
      : tensor<8x8xf32> -> tensor<4x4x2x2xf32>
  %relayout_1 = linalg.unpack %relayout_0 inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %relayout_x
      : tensor<4x4x2x2xf32> -> tensor<8x8xf32>
  return
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
