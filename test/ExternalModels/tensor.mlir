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

// Views and shapes cost nothing, even where a size is dynamic.
// BYTES-LABEL: @views
// BYTES: tensor.cast {{.*}}commsched.runtime_ns = 0 : i64
// BYTES: tensor.bitcast {{.*}}commsched.runtime_ns = 0 : i64
// BYTES: tensor.extract_slice {{.*}}commsched.runtime_ns = 0 : i64
// BYTES: tensor.expand_shape {{.*}}commsched.runtime_ns = 0 : i64
// BYTES: tensor.collapse_shape {{.*}}commsched.runtime_ns = 0 : i64
// BYTES: tensor.reshape{{.*}}commsched.runtime_ns = 0 : i64
// BYTES: tensor.dim {{.*}}commsched.runtime_ns = 0 : i64
// BYTES: tensor.empty() {commsched.runtime_ns = 0 : i64}
func.func @views(%x: tensor<8x8xf32>, %shape: tensor<1xi64>, %c0: index)
    -> (tensor<?x8xf32>, tensor<8x8xi32>, tensor<2x8xf32>, tensor<2x4x8xf32>, tensor<64xf32>, tensor<64xf32>, index, tensor<8xf32>) {
  %0 = tensor.cast %x : tensor<8x8xf32> to tensor<?x8xf32>
  %1 = tensor.bitcast %x : tensor<8x8xf32> to tensor<8x8xi32>
  %2 = tensor.extract_slice %x[0, 0] [2, 8] [1, 1] : tensor<8x8xf32> to tensor<2x8xf32>
  %3 = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 4, 8] : tensor<8x8xf32> into tensor<2x4x8xf32>
  %4 = tensor.collapse_shape %x [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %5 = tensor.reshape %x(%shape) : (tensor<8x8xf32>, tensor<1xi64>) -> tensor<64xf32>
  %6 = tensor.dim %0, %c0 : tensor<?x8xf32>
  %7 = tensor.empty() : tensor<8xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7
      : tensor<?x8xf32>, tensor<8x8xi32>, tensor<2x8xf32>, tensor<2x4x8xf32>, tensor<64xf32>, tensor<64xf32>, index, tensor<8xf32>
}

// The slice of 16 elements is read and written; the rest of the destination is
// not touched: 2 x 4 x 16.
// BYTES-LABEL: @insert_slice
// BYTES: tensor.insert_slice {{.*}}commsched.runtime_ns = 128 : i64
func.func @insert_slice(%x: tensor<2x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = tensor.insert_slice %x into %y[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// BYTES-LABEL: @one_element
// BYTES: tensor.extract {{.*}}commsched.runtime_ns = 4 : i64
// BYTES: tensor.insert {{.*}}commsched.runtime_ns = 4 : i64
func.func @one_element(%x: tensor<8x8xf32>, %i: index) -> tensor<8x8xf32> {
  %0 = tensor.extract %x[%i, %i] : tensor<8x8xf32>
  %1 = tensor.insert %0 into %x[%i, %i] : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// Read whole and written whole: 4 x (16 + 64 + 80), 4 x (16 + 36).
// BYTES-LABEL: @copies
// BYTES: tensor.concat {{.*}}commsched.runtime_ns = 640 : i64
// BYTES: tensor.pad {{.*}}
// BYTES: } {commsched.runtime_ns = 208 : i64}
func.func @copies(%x: tensor<2x8xf32>, %y: tensor<8x8xf32>, %z: tensor<4x4xf32>, %f: f32) -> (tensor<10x8xf32>, tensor<6x6xf32>) {
  %0 = tensor.concat dim(0) %x, %y : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<10x8xf32>
  %1 = tensor.pad %z low[1, 1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %f : f32
  } : tensor<4x4xf32> to tensor<6x6xf32>
  return %0, %1 : tensor<10x8xf32>, tensor<6x6xf32>
}

// Written only: 4 x 64, 4 x 3.
// BYTES-LABEL: @fills
// BYTES: tensor.splat {{.*}}commsched.runtime_ns = 256 : i64
// BYTES: tensor.from_elements {{.*}}commsched.runtime_ns = 12 : i64
func.func @fills(%f: f32) -> (tensor<8x8xf32>, tensor<3xf32>) {
  %0 = tensor.splat %f : tensor<8x8xf32>
  %1 = tensor.from_elements %f, %f, %f : tensor<3xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<3xf32>
}

// 64 elements with one product each; the addition of indices is not counted.
// FLOPS-LABEL: @generate
// FLOPS: } {commsched.runtime_ns = 64 : i64}
// BYTES-LABEL: @generate
// BYTES: } {commsched.runtime_ns = 256 : i64}
func.func @generate(%f: f32) -> tensor<8x8xf32> {
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %sum = arith.addi %i, %j : index
    %square = arith.mulf %f, %f : f32
    tensor.yield %square : f32
  } : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// 3 rows of 8 elements are read and written, and 3 indices of 8 bytes read:
// 2 x 4 x 24 + 24. A scatter into a tensor that lives on copies all of it:
// 4 x 24 + 4 x 64 + 24 read, 4 x 64 written.
// BYTES-LABEL: @gather_scatter
// BYTES: tensor.gather {{.*}}commsched.runtime_ns = 216 : i64
// BYTES: tensor.scatter {{.*}}commsched.runtime_ns = 632 : i64
func.func @gather_scatter(%x: tensor<8x8xf32>, %rows: tensor<3x1xindex>) -> tensor<8x8xf32> {
  %0 = tensor.gather %x[%rows] gather_dims([0]) : (tensor<8x8xf32>, tensor<3x1xindex>) -> tensor<3x1x8xf32>
  %1 = tensor.scatter %0 into %x[%rows] scatter_dims([0]) unique
      : (tensor<3x1x8xf32>, tensor<8x8xf32>, tensor<3x1xindex>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

}
