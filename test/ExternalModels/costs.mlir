// DEFINE: %{by} =
// DEFINE: %{times} = commsched-opt --allow-unregistered-dialect --commsched-estimate-runtime \
// DEFINE:   | grep -E "test.flops|runtime_ns" | not grep -vE "runtime_ns = ([0-9]+) : i64.* test.%{by} = \1 : i64"
// REDEFINE: %{by} = flops
// RUN: sed -e s/PEAK/1.0e-3/ -e s/BANDWIDTH/1.0e6/ %s | %{times}
// REDEFINE: %{by} = bytes
// RUN: sed -e s/PEAK/1.0e6/ -e s/BANDWIDTH/1.0/ %s | %{times}

// The first target does one flop a nanosecond and moves bytes for nothing; the
// second moves one byte a nanosecond and computes for nothing. So the times are
// the flops and the bytes themselves, those that operations are marked with.

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<
    "commsched.peak_tflops_f32" = PEAK : f64,
    "commsched.memory_gb_s" = BANDWIDTH : f64,
    "commsched.compute_efficiency" = 1 : i64,
    "commsched.memory_efficiency" = 1 : i64,
    "commsched.kernel_launch_ns" = 0 : i64>>} {

// One flop for each of 64 elements; 4 x (64 + 64 + 64) and 4 x (64 + 64) bytes.
func.func @elementwise(%x: tensor<8x8xf32>, %i: tensor<8x8xi32>) -> (tensor<8x8xf32>, tensor<8x8xi32>) {
  %0 = arith.addf %x, %x {test.bytes = 768, test.flops = 64} : tensor<8x8xf32>
  %1 = math.exp %0 {test.bytes = 512, test.flops = 64} : tensor<8x8xf32>
  %2 = arith.muli %i, %i {test.bytes = 768, test.flops = 64} : tensor<8x8xi32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xi32>
}

// Only bytes: 64 x (4 + 2).
func.func @conversion(%x: tensor<8x8xf32>) -> tensor<8x8xbf16> {
  %0 = arith.truncf %x {test.bytes = 384, test.flops = 0} : tensor<8x8xf32> to tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// Constants are there before the program starts; scalars are for the host.
func.func @free(%i: index) -> (tensor<8x8xf32>, index) {
  %0 = arith.constant {test.bytes = 0, test.flops = 0} dense<1.0> : tensor<8x8xf32>
  %1 = arith.addi %i, %i {test.bytes = 0, test.flops = 0} : index
  return %0, %1 : tensor<8x8xf32>, index
}

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @linalg(%matmul_a: tensor<4x8xf32>, %matmul_b: tensor<8x16xf32>, %matmul_c: tensor<4x16xf32>,
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
  %matmul_0 = linalg.matmul {test.bytes = 1152, test.flops = 1024} ins(%matmul_a, %matmul_b : tensor<4x8xf32>, tensor<8x16xf32>)
                     outs(%matmul_c : tensor<4x16xf32>) -> tensor<4x16xf32>

  // The same on buffers: there is no result to count.
  linalg.matmul {test.bytes = 1152, test.flops = 1024} ins(%matmul_on_buffers_a, %matmul_on_buffers_b : memref<4x8xf32>, memref<8x16xf32>) outs(%matmul_on_buffers_c : memref<4x16xf32>)

  // 2 x (4 x 16 x 8) additions and multiplications, in each of 3 batches.
  %batch_matmul_0 = linalg.batch_matmul {test.bytes = 3456, test.flops = 3072} ins(%batch_matmul_a, %batch_matmul_b : tensor<3x4x8xf32>, tensor<3x8x16xf32>)
                           outs(%batch_matmul_c : tensor<3x4x16xf32>) -> tensor<3x4x16xf32>

  %contract_0 = linalg.contract
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] {test.bytes = 1152, test.flops = 1024}
      ins(%contract_a, %contract_b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%contract_c : tensor<4x16xf32>) -> tensor<4x16xf32>

  // 2 x (6x6x5 results) x (3x3x2 weights each).
  // 4 x (8x8x2 + 3x3x2x5 + 2 x 6x6x5) bytes.
  %conv_0 = linalg.conv_2d_nhwc_hwcf {test.bytes = 2312, test.flops = 6480} ins(%conv_x, %conv_w : tensor<1x8x8x2xf32>, tensor<3x3x2x5xf32>)
                                outs(%conv_y : tensor<1x6x6x5xf32>) -> tensor<1x6x6x5xf32>

  // One addition for each of 4x4 results and 2x2 places of the window. The
  // window has a shape but is not read: 4 x (8x8 + 2 x 4x4) bytes.
  %pooling_0 = linalg.pooling_nhwc_sum {test.bytes = 384, test.flops = 64, strides = dense<2> : tensor<2xi64>}
      ins(%pooling_x, %pooling_window : tensor<1x8x8x1xf32>, tensor<2x2xf32>)
      outs(%pooling_y : tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>

  // A product, a comparison and a choice for each of 64 elements; the constant
  // and the arithmetic of indices do not count.
  %arithmetic_of_a_body_0 = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%arithmetic_of_a_body_x : tensor<64xf32>) outs(%arithmetic_of_a_body_y : tensor<64xf32>) attrs = {test.bytes = 512, test.flops = 192} {
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
  %movement_0 = linalg.fill {test.bytes = 256, test.flops = 0} ins(%movement_f : f32) outs(%movement_b : tensor<8x8xf32>) -> tensor<8x8xf32>
  %movement_1 = linalg.copy {test.bytes = 512, test.flops = 0} ins(%movement_a : tensor<8x8xf32>) outs(%movement_b : tensor<8x8xf32>) -> tensor<8x8xf32>
  %movement_2 = linalg.transpose ins(%movement_a : tensor<8x8xf32>) outs(%movement_b : tensor<8x8xf32>) permutation = [1, 0] {test.bytes = 512, test.flops = 0}
  // 4 x (8 + 64).
  %movement_3 = linalg.broadcast ins(%movement_row : tensor<8xf32>) outs(%movement_b : tensor<8x8xf32>) dimensions = [0] {test.bytes = 288, test.flops = 0}

  // 64 additions; 4 x (64 + 8 read + 8 written) bytes.
  %reduce_0 = linalg.reduce { arith.addf } ins(%reduce_x : tensor<8x8xf32>) outs(%reduce_y : tensor<8xf32>) dimensions = [1] {test.bytes = 320, test.flops = 64}

  // 5 flops for each of 64 elements, which are read once and written once.
  %softmax_0 = linalg.softmax {test.bytes = 512, test.flops = 320} dimension(1) ins(%softmax_x : tensor<8x8xf32>) outs(%softmax_y : tensor<8x8xf32>) -> tensor<8x8xf32>

  // 64 elements, read and written: 4 x 128 bytes.
  %relayout_0 = linalg.pack %relayout_x inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %relayout_p {test.bytes = 512, test.flops = 0}
      : tensor<8x8xf32> -> tensor<4x4x2x2xf32>
  %relayout_1 = linalg.unpack %relayout_0 inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %relayout_x {test.bytes = 512, test.flops = 0}
      : tensor<4x4x2x2xf32> -> tensor<8x8xf32>
  return
}

// A conversion is no arithmetic. 64 floats are read and 64 halves only written:
// 64 x (4 + 2) bytes. The operations of the body get no times of their own.
func.func @linalg_conversion(%x: tensor<64xf32>, %y: tensor<64xf16>) -> tensor<64xf16> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%y : tensor<64xf16>) attrs = {test.bytes = 384, test.flops = 0} {
  ^bb0(%in: f32, %out: f16):
    %narrow = arith.truncf %in : f32 to f16
    linalg.yield %narrow : f16
  } -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// A size that is not static leaves the operation unpinned.
func.func @linalg_dynamic(%a: tensor<?x8xf32>, %b: tensor<8x16xf32>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x16xf32>)
                     outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}

func.func @tensor(%views_x: tensor<8x8xf32>, %views_shape: tensor<1xi64>, %views_c0: index,
                %insert_slice_x: tensor<2x8xf32>, %insert_slice_y: tensor<8x8xf32>, %one_element_x: tensor<8x8xf32>,
                %one_element_i: index, %copies_x: tensor<2x8xf32>, %copies_y: tensor<8x8xf32>,
                %copies_z: tensor<4x4xf32>, %copies_f: f32, %fills_f: f32, %generate_f: f32,
                %gather_scatter_x: tensor<8x8xf32>, %gather_scatter_rows: tensor<3x1xindex>) {
  // Views and shapes cost nothing, even where a size is dynamic.
  %views_0 = tensor.cast %views_x {test.bytes = 0, test.flops = 0} : tensor<8x8xf32> to tensor<?x8xf32>
  %views_1 = tensor.bitcast %views_x {test.bytes = 0, test.flops = 0} : tensor<8x8xf32> to tensor<8x8xi32>
  %views_2 = tensor.extract_slice %views_x[0, 0] [2, 8] [1, 1] {test.bytes = 0, test.flops = 0} : tensor<8x8xf32> to tensor<2x8xf32>
  %views_3 = tensor.expand_shape %views_x [[0, 1], [2]] output_shape [2, 4, 8] {test.bytes = 0, test.flops = 0} : tensor<8x8xf32> into tensor<2x4x8xf32>
  %views_4 = tensor.collapse_shape %views_x [[0, 1]] {test.bytes = 0, test.flops = 0} : tensor<8x8xf32> into tensor<64xf32>
  %views_5 = tensor.reshape %views_x(%views_shape) {test.bytes = 0, test.flops = 0} : (tensor<8x8xf32>, tensor<1xi64>) -> tensor<64xf32>
  %views_6 = tensor.dim {test.bytes = 0, test.flops = 0} %views_0, %views_c0 : tensor<?x8xf32>
  %views_7 = tensor.empty() {test.bytes = 0, test.flops = 0} : tensor<8xf32>

  // The slice of 16 elements is read and written; the rest of the destination is
  // not touched: 2 x 4 x 16.
  %insert_slice_0 = tensor.insert_slice %insert_slice_x into %insert_slice_y[0, 0] [2, 8] [1, 1] {test.bytes = 128, test.flops = 0} : tensor<2x8xf32> into tensor<8x8xf32>

  %one_element_0 = tensor.extract %one_element_x[%one_element_i, %one_element_i] {test.bytes = 4, test.flops = 0} : tensor<8x8xf32>
  %one_element_1 = tensor.insert %one_element_0 into %one_element_x[%one_element_i, %one_element_i] {test.bytes = 4, test.flops = 0} : tensor<8x8xf32>

  // Read whole and written whole: 4 x (16 + 64 + 80), 4 x (16 + 36).
  %copies_0 = tensor.concat dim(0) %copies_x, %copies_y {test.bytes = 640, test.flops = 0} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<10x8xf32>
  %copies_1 = tensor.pad %copies_z low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %copies_f : f32
  } {test.bytes = 208, test.flops = 0} : tensor<4x4xf32> to tensor<6x6xf32>

  // Written only: 4 x 64, 4 x 3.
  %fills_0 = tensor.splat %fills_f {test.bytes = 256, test.flops = 0} : tensor<8x8xf32>
  %fills_1 = tensor.from_elements %fills_f, %fills_f, %fills_f {test.bytes = 12, test.flops = 0} : tensor<3xf32>

  // 64 elements with one product each; the addition of indices is not counted.
  %generate_0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %generate_sum = arith.addi %i, %j : index
    %generate_square = arith.mulf %generate_f, %generate_f : f32
    tensor.yield %generate_square : f32
  } {test.bytes = 256, test.flops = 64} : tensor<8x8xf32>

  // 3 rows of 8 elements are read and written, and 3 indices of 8 bytes read:
  // 2 x 4 x 24 + 24. A scatter into a tensor that lives on copies all of it:
  // 4 x 24 + 4 x 64 + 24 read, 4 x 64 written.
  %gather_scatter_0 = tensor.gather %gather_scatter_x[%gather_scatter_rows] gather_dims([0]) {test.bytes = 216, test.flops = 0} : (tensor<8x8xf32>, tensor<3x1xindex>) -> tensor<3x1x8xf32>
  %gather_scatter_1 = tensor.scatter %gather_scatter_0 into %gather_scatter_x[%gather_scatter_rows] scatter_dims([0]) unique {test.bytes = 632, test.flops = 0}
      : (tensor<3x1x8xf32>, tensor<8x8xf32>, tensor<3x1xindex>) -> tensor<8x8xf32>
  return
}

func.func @tosa(%matmul_a: tensor<2x4x8xf32>, %matmul_b: tensor<2x8x16xf32>, %matmul_za: tensor<1xf32>,
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
  %matmul_0 = tosa.matmul %matmul_a, %matmul_b, %matmul_za, %matmul_zb {test.bytes = 1800, test.flops = 2048}
      : (tensor<2x4x8xf32>, tensor<2x8x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4x16xf32>

  // 2 x (6x6x5 results) x (3x3x2 weights each).
  // 4 x (8x8x2 + 5x3x3x2 + 5 + 2 + 6x6x5) bytes.
  %conv2d_0 = tosa.conv2d %conv2d_x, %conv2d_w, %conv2d_b, %conv2d_z, %conv2d_z {test.bytes = 1620, test.flops = 6480, acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
      : (tensor<1x8x8x2xf32>, tensor<5x3x3x2xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x5xf32>

  // 2 x (2x2x2x5 results) x (3x3x3x2 weights each).
  %conv3d_0 = tosa.conv3d %conv3d_x, %conv3d_w, %conv3d_b, %conv3d_z, %conv3d_z {test.bytes = 1780, test.flops = 4320, acc_type = f32, dilation = array<i64: 1, 1, 1>, pad = array<i64: 0, 0, 0, 0, 0, 0>, stride = array<i64: 1, 1, 1>}
      : (tensor<1x4x4x4x2xf32>, tensor<5x3x3x3x2xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x2x2x2x5xf32>

  // 2 x (6x6x(2x3) results) x (3x3 weights each).
  %depthwise_0 = tosa.depthwise_conv2d %depthwise_x, %depthwise_w, %depthwise_b, %depthwise_z, %depthwise_z {test.bytes = 1624, test.flops = 3888, acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
      : (tensor<1x8x8x2xf32>, tensor<3x3x2x3xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x6xf32>

  // 2 x (4x4x2 inputs) x (5 channels of 3x2 results each).
  %transposed_0 = tosa.transpose_conv2d %transposed_x, %transposed_w, %transposed_b, %transposed_z, %transposed_z {test.bytes = 1836, test.flops = 1920, acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
      : (tensor<1x4x4x2xf32>, tensor<5x3x2x2xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x9x8x5xf32>

  // 4x4 results with a window of 2x2.
  %pooling_0 = tosa.max_pool2d %pooling_x {test.bytes = 320, test.flops = 64, kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}
      : (tensor<1x8x8x1xf32>) -> tensor<1x4x4x1xf32>

  // One flop for each of 64 results, whatever is broadcast.
  // 4 x (64 + 8 + 64) bytes; 4 x (64 + 64) + 4 x 64 + 1 bytes; 4 x (64 + 64).
  %elementwise_0 = tosa.add %elementwise_x, %elementwise_row {test.bytes = 544, test.flops = 64} : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %elementwise_1 = tosa.mul %elementwise_0, %elementwise_x, %elementwise_shift {test.bytes = 769, test.flops = 64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<1xi8>) -> tensor<8x8xf32>
  %elementwise_2 = tosa.exp %elementwise_1 {test.bytes = 512, test.flops = 64} : (tensor<8x8xf32>) -> tensor<8x8xf32>

  // One flop for each of 64 operands; 4 x (64 + 8) bytes.
  %reduction_0 = tosa.reduce_sum %reduction_x {test.bytes = 288, test.flops = 64, axis = 1 : i32} : (tensor<8x8xf32>) -> tensor<8x1xf32>

  %free_shape = tosa.const_shape {test.bytes = 0, test.flops = 0, values = dense<64> : tensor<1xindex>} : () -> !tosa.shape<1>
  %free_0 = tosa.reshape %free_x, %free_shape {test.bytes = 0, test.flops = 0} : (tensor<8x8xf32>, !tosa.shape<1>) -> tensor<64xf32>
  %free_1 = "tosa.const"() {test.bytes = 0, test.flops = 0, values = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32>

  // 16 elements are read and written; 24 elements and 3 indices of 4 bytes are
  // read and the elements written; 64 elements are read and written.
  %movement_start = tosa.const_shape {test.bytes = 0, test.flops = 0, values = dense<0> : tensor<2xindex>} : () -> !tosa.shape<2>
  %movement_size = tosa.const_shape {test.bytes = 0, test.flops = 0, values = dense<[2, 8]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %movement_0 = tosa.slice %movement_x, %movement_start, %movement_size {test.bytes = 128, test.flops = 0} : (tensor<8x8xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x8xf32>
  %movement_1 = tosa.gather %movement_v, %movement_rows {test.bytes = 204, test.flops = 0} : (tensor<1x8x8xf32>, tensor<1x3xi32>) -> tensor<1x3x8xf32>
  %movement_2 = tosa.transpose %movement_x {test.bytes = 512, test.flops = 0, perms = array<i32: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

func.func @views(%m: memref<8x8xf32>, %t: tensor<8x8xf32>) -> (tensor<8x8xf32>, memref<8x8xf32>) {
  %0 = bufferization.to_tensor %m {test.bytes = 0, test.flops = 0} : memref<8x8xf32> to tensor<8x8xf32>
  %1 = bufferization.to_buffer %t {test.bytes = 0, test.flops = 0} : tensor<8x8xf32> to memref<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, memref<8x8xf32>
}

// Each reads and writes 64 elements: 2 x 4 x 64.
func.func @copies(%m: memref<8x8xf32>, %s: tensor<8x8xf32>, %t: tensor<8x8xf32>)
    -> (memref<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = bufferization.clone %m {test.bytes = 512, test.flops = 0} : memref<8x8xf32> to memref<8x8xf32>
  %1 = bufferization.materialize_in_destination %s in %t {test.bytes = 512, test.flops = 0} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  bufferization.materialize_in_destination %s in restrict writable %m {test.bytes = 512, test.flops = 0} : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  %2 = bufferization.alloc_tensor() copy(%s) {test.bytes = 512, test.flops = 0} : tensor<8x8xf32>
  return %0, %1, %2 : memref<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// Memory that is only handed out is not touched; nor do buffers need a model
// of their own for that.
func.func @allocation() {
  %0 = bufferization.alloc_tensor() {test.bytes = 0, test.flops = 0} : tensor<8x8xf32>
  bufferization.dealloc_tensor %0 {test.bytes = 0, test.flops = 0} : tensor<8x8xf32>
  %1 = memref.alloc() {test.bytes = 0, test.flops = 0} : memref<8x8xf32>
  memref.dealloc %1 {test.bytes = 0, test.flops = 0} : memref<8x8xf32>
  return
}

}
