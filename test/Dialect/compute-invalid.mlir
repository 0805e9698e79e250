// RUN: commsched-opt %s -split-input-file -verify-diagnostics

func.func @compute(%x: tensor<4xf32>, %m: memref<4xf32>, %s: i64) {
  %0:2 = commsched.compute "aten.var_mean"(%x, %s) {
      flops = 0.0 : f64, bytes = 0 : i64}
      : (tensor<4xf32>, i64) -> (tensor<f32>, tensor<f32>)
  %1 = commsched.compute "aten.view"(%x) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<2x2xf32>
  commsched.compute "aten.copy_"(%m, %x) {mutates = array<i64: 0, 1>}
      : (memref<4xf32>, tensor<4xf32>) -> ()
  %2 = commsched.compute "aten.rand"() {random} : () -> tensor<4xf32>
  return
}

// -----

func.func @compute_c1() {
  // expected-error@below {{'commsched.compute' op needs the name of an operator (C1)}}
  commsched.compute ""() : () -> ()
  return
}

// -----

func.func @compute_c2(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.compute' op 'flops' must be finite and not negative, but is -1.0}}
  %0 = commsched.compute "aten.sin"(%x) {flops = -1.0 : f64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compute_c2_infinite(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.compute' op 'flops' must be finite and not negative, but is INF}}
  %0 = commsched.compute "aten.sin"(%x) {flops = 0x7FF0000000000000 : f64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compute_c2_not_a_number(%x: tensor<4xf32>) {
  // expected-error@below {{(C2)}}
  %0 = commsched.compute "aten.sin"(%x) {flops = 0x7FF8000000000000 : f64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compute_c3(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.compute' op 'bytes' must not be negative, but is -32 (C3)}}
  %0 = commsched.compute "aten.sin"(%x) {bytes = -32 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compute_c4(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.compute' op 'alias' is 1, but there are 1 operand(s) (C4)}}
  %0 = commsched.compute "aten.view"(%x) {alias = 1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compute_c4_negative(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.compute' op 'alias' is -1, but there are 1 operand(s) (C4)}}
  %0 = commsched.compute "aten.view"(%x) {alias = -1 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compute_c5(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.compute' op 'mutates' has 3, but there are 1 operand(s) (C5)}}
  commsched.compute "aten.zero_"(%x) {mutates = array<i64: 0, 3>}
      : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @compute_c5_twice(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.compute' op 'mutates' has 0 twice (C5)}}
  commsched.compute "aten.zero_"(%x) {mutates = array<i64: 0, 0>}
      : (tensor<4xf32>) -> ()
  return
}
