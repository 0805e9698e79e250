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

func.func @costs(%views_x: tensor<8x8xf32>, %views_shape: tensor<1xi64>, %views_c0: index,
                %insert_slice_x: tensor<2x8xf32>, %insert_slice_y: tensor<8x8xf32>, %one_element_x: tensor<8x8xf32>,
                %one_element_i: index, %copies_x: tensor<2x8xf32>, %copies_y: tensor<8x8xf32>,
                %copies_z: tensor<4x4xf32>, %copies_f: f32, %fills_f: f32, %generate_f: f32,
                %gather_scatter_x: tensor<8x8xf32>, %gather_scatter_rows: tensor<3x1xindex>) {
  // Views and shapes cost nothing, even where a size is dynamic.
  // BYTES: tensor.cast {{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: tensor.bitcast {{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: tensor.extract_slice {{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: tensor.expand_shape {{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: tensor.collapse_shape {{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: tensor.reshape{{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: tensor.dim {{.*}}commsched.runtime_ns = 0 : i64
  // BYTES: tensor.empty() {commsched.runtime_ns = 0 : i64}
  %views_0 = tensor.cast %views_x : tensor<8x8xf32> to tensor<?x8xf32>
  %views_1 = tensor.bitcast %views_x : tensor<8x8xf32> to tensor<8x8xi32>
  %views_2 = tensor.extract_slice %views_x[0, 0] [2, 8] [1, 1] : tensor<8x8xf32> to tensor<2x8xf32>
  %views_3 = tensor.expand_shape %views_x [[0, 1], [2]] output_shape [2, 4, 8] : tensor<8x8xf32> into tensor<2x4x8xf32>
  %views_4 = tensor.collapse_shape %views_x [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %views_5 = tensor.reshape %views_x(%views_shape) : (tensor<8x8xf32>, tensor<1xi64>) -> tensor<64xf32>
  %views_6 = tensor.dim %views_0, %views_c0 : tensor<?x8xf32>
  %views_7 = tensor.empty() : tensor<8xf32>

  // The slice of 16 elements is read and written; the rest of the destination is
  // not touched: 2 x 4 x 16.
  // BYTES: tensor.insert_slice {{.*}}commsched.runtime_ns = 128 : i64
  %insert_slice_0 = tensor.insert_slice %insert_slice_x into %insert_slice_y[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<8x8xf32>

  // BYTES: tensor.extract {{.*}}commsched.runtime_ns = 4 : i64
  // BYTES: tensor.insert {{.*}}commsched.runtime_ns = 4 : i64
  %one_element_0 = tensor.extract %one_element_x[%one_element_i, %one_element_i] : tensor<8x8xf32>
  %one_element_1 = tensor.insert %one_element_0 into %one_element_x[%one_element_i, %one_element_i] : tensor<8x8xf32>

  // Read whole and written whole: 4 x (16 + 64 + 80), 4 x (16 + 36).
  // BYTES: tensor.concat {{.*}}commsched.runtime_ns = 640 : i64
  // BYTES: tensor.pad {{.*}}
  // BYTES: } {commsched.runtime_ns = 208 : i64}
  %copies_0 = tensor.concat dim(0) %copies_x, %copies_y : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<10x8xf32>
  %copies_1 = tensor.pad %copies_z low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %copies_f : f32
  } : tensor<4x4xf32> to tensor<6x6xf32>

  // Written only: 4 x 64, 4 x 3.
  // BYTES: tensor.splat {{.*}}commsched.runtime_ns = 256 : i64
  // BYTES: tensor.from_elements {{.*}}commsched.runtime_ns = 12 : i64
  %fills_0 = tensor.splat %fills_f : tensor<8x8xf32>
  %fills_1 = tensor.from_elements %fills_f, %fills_f, %fills_f : tensor<3xf32>

  // 64 elements with one product each; the addition of indices is not counted.
  // FLOPS: } {commsched.runtime_ns = 64 : i64}
  // BYTES: } {commsched.runtime_ns = 256 : i64}
  %generate_0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %generate_sum = arith.addi %i, %j : index
    %generate_square = arith.mulf %generate_f, %generate_f : f32
    tensor.yield %generate_square : f32
  } : tensor<8x8xf32>

  // 3 rows of 8 elements are read and written, and 3 indices of 8 bytes read:
  // 2 x 4 x 24 + 24. A scatter into a tensor that lives on copies all of it:
  // 4 x 24 + 4 x 64 + 24 read, 4 x 64 written.
  // BYTES: tensor.gather {{.*}}commsched.runtime_ns = 216 : i64
  // BYTES: tensor.scatter {{.*}}commsched.runtime_ns = 632 : i64
  %gather_scatter_0 = tensor.gather %gather_scatter_x[%gather_scatter_rows] gather_dims([0]) : (tensor<8x8xf32>, tensor<3x1xindex>) -> tensor<3x1x8xf32>
  %gather_scatter_1 = tensor.scatter %gather_scatter_0 into %gather_scatter_x[%gather_scatter_rows] scatter_dims([0]) unique
      : (tensor<3x1x8xf32>, tensor<8x8xf32>, tensor<3x1xindex>) -> tensor<8x8xf32>
  return
}

}
