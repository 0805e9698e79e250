// RUN: commsched-opt %s --commsched-reorder-compute-for-overlap -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-report -split-input-file -verify-diagnostics

// Costs and sizes that do not add up within 64 bits are an error where they
// stop to.

commsched.group @g size(2)

func.func @costs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = commsched.compute "long"(%x) {commsched.runtime_ns = 9223372036854775807}
      : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'commsched.all_reduce' op takes 1 ns, which together with the operations before it does not fit 64 bits}}
  %f = commsched.all_reduce %y on @g reduction(sum) {commsched.runtime_ns = 1}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  return %w : tensor<4xf32>
}

// -----

commsched.group @g size(2)

func.func @sizes(%x: tensor<1152921504606846976xf32>) {
  commsched.barrier on @g {commsched.runtime_ns = 1 : i64}
  %y = commsched.compute "y"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<1152921504606846976xf32>) -> tensor<576460752303423488xf32>
  // expected-error @below {{the 4611686018427387904 bytes of a 'tensor<1152921504606846976xf32>' and those of the values before it do not fit 64 bits}}
  %z = commsched.compute "z"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<1152921504606846976xf32>) -> tensor<1152921504606846976xf32>
  return
}
