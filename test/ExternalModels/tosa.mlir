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

func.func @costs(%matmul_a: tensor<2x4x8xf32>, %matmul_b: tensor<2x8x16xf32>, %matmul_za: tensor<1xf32>,
                %matmul_zb: tensor<1xf32>, %conv2d_x: tensor<1x8x8x2xf32>, %conv2d_w: tensor<5x3x3x2xf32>,
                %conv2d_b: tensor<5xf32>, %conv2d_z: tensor<1xf32>, %conv3d_x: tensor<1x4x4x4x2xf32>,
                %conv3d_w: tensor<5x3x3x3x2xf32>, %conv3d_b: tensor<5xf32>, %conv3d_z: tensor<1xf32>,
                %depthwise_x: tensor<1x8x8x2xf32>, %depthwise_w: tensor<3x3x2x3xf32>, %depthwise_b: tensor<6xf32>,
                %depthwise_z: tensor<1xf32>, %transposed_x: tensor<1x4x4x2xf32>, %transposed_w: tensor<5x3x2x2xf32>,
                %transposed_b: tensor<5xf32>, %transposed_z: tensor<1xf32>, %pooling_x: tensor<1x8x8x1xf32>,
                %elementwise_x: tensor<8x8xf32>, %elementwise_row: tensor<1x8xf32>, %elementwise_shift: tensor<1xi8>,
                %reduction_x: tensor<8x8xf32>, %free_x: tensor<8x8xf32>, %movement_x: tensor<8x8xf32>,
                %movement_v: tensor<1x8x8xf32>, %movement_rows: tensor<1x3xi32>) {
  // 2 x (2x4x16 results) x (8 terms); 4 x (2x4x8 + 2x8x16 + 1 + 1 + 2x4x16) bytes.
  // FLOPS: tosa.matmul {{.*}}commsched.runtime_ns = 2048 : i64
  // BYTES: tosa.matmul {{.*}}commsched.runtime_ns = 1800 : i64
  %matmul_0 = tosa.matmul %matmul_a, %matmul_b, %matmul_za, %matmul_zb
      : (tensor<2x4x8xf32>, tensor<2x8x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x16xf32>

  // 2 x (6x6x5 results) x (3x3x2 weights each).
  // 4 x (8x8x2 + 5x3x3x2 + 5 + 2 + 6x6x5) bytes.
  // FLOPS: tosa.conv2d {{.*}}commsched.runtime_ns = 6480 : i64
  // BYTES: tosa.conv2d {{.*}}commsched.runtime_ns = 1620 : i64
  %conv2d_0 = tosa.conv2d %conv2d_x, %conv2d_w, %conv2d_b, %conv2d_z, %conv2d_z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
      : (tensor<1x8x8x2xf32>, tensor<5x3x3x2xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x5xf32>

  // 2 x (2x2x2x5 results) x (3x3x3x2 weights each).
  // FLOPS: tosa.conv3d {{.*}}commsched.runtime_ns = 4320 : i64
  %conv3d_0 = tosa.conv3d %conv3d_x, %conv3d_w, %conv3d_b, %conv3d_z, %conv3d_z {acc_type = f32, dilation = array<i64: 1, 1, 1>, pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>}
      : (tensor<1x4x4x4x2xf32>, tensor<5x3x3x3x2xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x2x2x2x5xf32>

  // 2 x (6x6x(2x3) results) x (3x3 weights each).
  // FLOPS: tosa.depthwise_conv2d {{.*}}commsched.runtime_ns = 3888 : i64
  %depthwise_0 = tosa.depthwise_conv2d %depthwise_x, %depthwise_w, %depthwise_b, %depthwise_z, %depthwise_z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
      : (tensor<1x8x8x2xf32>, tensor<3x3x2x3xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x6xf32>

  // 2 x (4x4x2 inputs) x (5 channels of 3x2 results each).
  // FLOPS: tosa.transpose_conv2d {{.*}}commsched.runtime_ns = 1920 : i64
  %transposed_0 = tosa.transpose_conv2d %transposed_x, %transposed_w, %transposed_b, %transposed_z, %transposed_z {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
      : (tensor<1x4x4x2xf32>, tensor<5x3x2x2xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x9x8x5xf32>

  // 4x4 results with a window of 2x2.
  // FLOPS: tosa.max_pool2d {{.*}}commsched.runtime_ns = 64 : i64
  %pooling_0 = tosa.max_pool2d %pooling_x {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
      : (tensor<1x8x8x1xf32>) -> tensor<1x4x4x1xf32>

  // One flop for each of 64 results, whatever is broadcast.
  // 4 x (64 + 8 + 64) bytes; 4 x (64 + 64) + 4 x 64 + 1 bytes; 4 x (64 + 64).
  // FLOPS: tosa.add {{.*}}commsched.runtime_ns = 64 : i64
  // FLOPS: tosa.mul {{.*}}commsched.runtime_ns = 64 : i64
  // FLOPS: tosa.exp {{.*}}commsched.runtime_ns = 64 : i64
  // BYTES: tosa.add {{.*}}commsched.runtime_ns = 544 : i64
  // BYTES: tosa.mul {{.*}}commsched.runtime_ns = 769 : i64
  // BYTES: tosa.exp {{.*}}commsched.runtime_ns = 512 : i64
  %elementwise_0 = tosa.add %elementwise_x, %elementwise_row : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %elementwise_1 = tosa.mul %elementwise_0, %elementwise_x, %elementwise_shift : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<1xi8>) -> tensor<8x8xf32>
  %elementwise_2 = tosa.exp %elementwise_1 : (tensor<8x8xf32>) -> tensor<8x8xf32>

  // One flop for each of 64 operands; 4 x (64 + 8) bytes.
  // FLOPS: tosa.reduce_sum {{.*}}commsched.runtime_ns = 64 : i64
  // BYTES: tosa.reduce_sum {{.*}}commsched.runtime_ns = 288 : i64
  %reduction_0 = tosa.reduce_sum %reduction_x {axis = 1 : i32} : (tensor<8x8xf32>) -> tensor<8x1xf32>

  // BYTES: tosa.const_shape {{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: tosa.reshape {{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: "tosa.const"() {{.*}}commsched.runtime_ns = 0 : i64
  %free_shape = tosa.const_shape {values = dense<64> : tensor<1xindex>} : () -> !tosa.shape<1>
  %free_0 = tosa.reshape %free_x, %free_shape : (tensor<8x8xf32>, !tosa.shape<1>) -> tensor<64xf32>
  %free_1 = "tosa.const"() {values = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32>

  // 16 elements are read and written; 24 elements and 3 indices of 4 bytes are
  // read and the elements written; 64 elements are read and written.
  // BYTES: tosa.slice {{.*}}commsched.runtime_ns = 128 : i64
  // BYTES: tosa.gather {{.*}}commsched.runtime_ns = 204 : i64
  // BYTES: tosa.transpose {{.*}}commsched.runtime_ns = 512 : i64
  %movement_start = tosa.const_shape {values = dense<0> : tensor<2xindex>} : () -> !tosa.shape<2>
  %movement_size = tosa.const_shape {values = dense<[2, 8]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %movement_0 = tosa.slice %movement_x, %movement_start, %movement_size : (tensor<8x8xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x8xf32>
  %movement_1 = tosa.gather %movement_v, %movement_rows : (tensor<1x8x8xf32>, tensor<1x3xi32>) -> tensor<1x3x8xf32>
  %movement_2 = tosa.transpose %movement_x {perms = array<i32: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

}
