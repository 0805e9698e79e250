// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-reorder-compute-for-overlap -split-input-file -verify-diagnostics
// RUN: commsched-opt %t.mlir --commsched-report -split-input-file -verify-diagnostics

// Costs and sizes that do not add up within 64 bits are an error where they
// stop to.

commsched.group @g size(2)

func.func @costs(%x: tensor<4xf32>) -> tensor<4xf32> {
  $take(%y = long %x in 9223372036854775807 ns : (tensor<4xf32>) -> tensor<4xf32>)
  // expected-error @below {{'commsched.all_reduce' op takes 1 ns, which together with the operations before it does not fit 64 bits}}
  $run(%w = all_reduce %y on @g reduction(sum) {commsched.runtime_ns = 1} : tensor<4xf32> -> tensor<4xf32>)
  return %w : tensor<4xf32>
}

// -----

commsched.group @g size(2)

func.func @sizes(%x: tensor<1152921504606846976xf32>) {
  commsched.barrier on @g {commsched.runtime_ns = 1 : i64}
  $take(%y = y %x in 1 ns : (tensor<1152921504606846976xf32>) -> tensor<576460752303423488xf32>)
  // expected-error @below {{the 4611686018427387904 bytes of a 'tensor<1152921504606846976xf32>' and those of the values before it do not fit 64 bits}}
  $take(%z = z %x in 1 ns : (tensor<1152921504606846976xf32>) -> tensor<1152921504606846976xf32>)
  return
}
