// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics \
// RUN:   --mlir-print-op-on-diagnostic=false --commsched-schedule=strict -o /dev/null

// With `strict`, a time or a size that is not known is an error.

commsched.group @g size(2)
func.func @row(%x: tensor<4xi8>) {
  ROW
  return
}

// -----

  %v = tensor.cast %x : tensor<4xi8> to tensor<?xi8>
  // expected-error @below {{cannot be scheduled without its time: aten.foo: the size of operand 0 of 'commsched.compute', a tensor<?xi8>, is not static; run commsched-estimate-runtime where sizes are static, or set commsched.runtime_ns on it}}
  %a = commsched.compute "aten.foo"(%v) : (tensor<?xi8>) -> tensor<4xi8>
  $run(%w = all_reduce %a on @g reduction(max)
      : tensor<4xi8> -> tensor<4xi8>)

// expected-error @below {{cannot be scheduled without its size: the size of a tensor<?xi8> is not known; 'commsched.size_hints' may give it}}
%a = commsched.compute "aten.foo"(%x) {commsched.runtime_ns = 1 : i64}
    : (tensor<4xi8>) -> tensor<?xi8>
$run(%w = all_reduce %x on @g reduction(max) : tensor<4xi8> -> tensor<4xi8>)

  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 9223372036854775807}
      : (tensor<4xi8>) -> tensor<4xi8>
  // expected-error @below {{takes 1 ns, which together with the operations before it does not fit 64 bits}}
  $run(%w = all_reduce %a on @g reduction(max) {commsched.runtime_ns = 1}
      : tensor<4xi8> -> tensor<4xi8>)

// -----

commsched.group @g size(2)

// Where no collective is scheduled, no time is needed.
func.func @no_collective(%x: tensor<?xi8>) -> tensor<?xi8> {
  %a = commsched.compute "aten.foo"(%x) : (tensor<?xi8>) -> tensor<?xi8>
  return %a : tensor<?xi8>
}
