// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

func.func @compute(%x: tensor<4xf32>, %m: memref<4xf32>, %s: i64) {
  %0:2 = commsched.compute "aten.var_mean"(%x, %s) {
      flops = 0.0 : f64, bytes = 0 : i64}
      : (tensor<4xf32>, i64) -> (tensor<f32>, tensor<f32>)
  %1 = commsched.compute "aten.view"(%x) {alias = 0 : i64} : (tensor<4xf32>) -> tensor<2x2xf32>
  commsched.compute "aten.copy_"(%m, %x) {mutates = array<i64: 0, 1>}
      : (memref<4xf32>, tensor<4xf32>) -> ()
  %2 = commsched.compute "aten.rand"() {random} : () -> tensor<4xf32>
  return
}

// -----

func.func @row(
    %x: tensor<4xf32>, %s: i64, %w: tensor<2x4xf32>,
    %t4x4xf32: tensor<4x4xf32>, %t6x4xf32: tensor<6x4xf32>,
    %t6xf32: tensor<6xf32>, %t_xf32: tensor<?xf32>) {
  ROW
  return
}

// -----

$error('commsched.compute' op needs the name of an operator (C1))
commsched.compute ""() : () -> ()
$error('commsched.compute' op 'flops' must be finite and not negative, but is -1.0)
%0 = commsched.compute "aten.sin"(%x) {flops = -1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
$error('commsched.compute' op 'flops' must be finite and not negative, but is INF)
%0 = commsched.compute "aten.sin"(%x) {flops = 0x7FF0000000000000 : f64} : (tensor<4xf32>) -> tensor<4xf32>
$error((C2))
%0 = commsched.compute "aten.sin"(%x) {flops = 0x7FF8000000000000 : f64} : (tensor<4xf32>) -> tensor<4xf32>
$error('commsched.compute' op 'bytes' must not be negative, but is -32 (C3))
%0 = commsched.compute "aten.sin"(%x) {bytes = -32 : i64} : (tensor<4xf32>) -> tensor<4xf32>
$error('commsched.compute' op 'alias' is 1, but there are 1 operand(s) (C4))
%0 = commsched.compute "aten.view"(%x) {alias = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
$error('commsched.compute' op 'alias' is -1, but there are 1 operand(s) (C4))
%0 = commsched.compute "aten.view"(%x) {alias = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
$error('commsched.compute' op 'mutates' has 3, but there are 1 operand(s) (C5))
commsched.compute "aten.zero_"(%x) {mutates = array<i64: 0, 3>} : (tensor<4xf32>) -> ()
$error('commsched.compute' op 'mutates' has 0 twice (C5))
commsched.compute "aten.zero_"(%x) {mutates = array<i64: 0, 0>} : (tensor<4xf32>) -> ()
$error('commsched.compute' op 'split' has no '->' between operands and results (C6))
%0 = commsched.compute "aten.sin"(%x) {split = "a"} : (tensor<4xf32>) -> tensor<4xf32>
$error('commsched.compute' op 'split' has 2 operand(s), but the operation has 1 (C6))
%0 = commsched.compute "aten.sin"(%x) {split = "a, a -> a"} : (tensor<4xf32>) -> tensor<4xf32>
$error('commsched.compute' op 'split' has 1 result(s), but the operation has 2 (C6))
%0:2 = commsched.compute "aten.split"(%x) {split = "_ -> _"} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
$error('split' has 2 dimension(s) for operand 0, which is a 'tensor<4xf32>' (C6))
%0 = commsched.compute "aten.sin"(%x) {split = "a b -> a"} : (tensor<4xf32>) -> tensor<4xf32>
$error('split' has 1 dimension(s) for operand 1, which is a 'i64' (C6))
%0 = commsched.compute "aten.sin"(%x, %s) {split = "a, a -> a"} : (tensor<4xf32>, i64) -> tensor<4xf32>
$error('split' has a '(' without its ')' in result 0 (C6))
%0 = commsched.compute "aten.sin"(%x) {split = "a -> (a"} : (tensor<4xf32>) -> tensor<4xf32>
$error('split' has a ')' without its '(' in operand 0 (C6))
%0 = commsched.compute "aten.sin"(%x) {split = "a) -> a"} : (tensor<4xf32>) -> tensor<4xf32>
$error('split' has '*', where the name of an axis, a number, '_' or a dimension in parentheses is expected (C6))
%0 = commsched.compute "aten.sin"(%x) {split = "a* -> a"} : (tensor<4xf32>) -> tensor<4xf32>
$error('split' has the number 99999999999999999999, which is too large (C6))
%0 = commsched.compute "aten.sin"(%x) {split = "99999999999999999999 -> _"} : (tensor<4xf32>) -> tensor<4xf32>
$error('split' has axis 'a' twice in operand 0 (C6))
%0 = commsched.compute "aten.diagonal"(%t4x4xf32) {split = "a a -> a"} : (tensor<4x4xf32>) -> tensor<4xf32>
$error('split' gives dimension 0 of operand 1, which has size 2, axis 'k' of size 4 (C6))
%0 = commsched.compute "aten.mm"(%t6x4xf32, %w) {split = "m k, k n -> m n"} : (tensor<6x4xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
$error('split' gives dimension 0 of operand 0 of size 6 other parts of size 4 than axis 'a', which do not divide it (C6))
%0 = commsched.compute "aten.view"(%t6xf32) {split = "(4 a) -> a"} : (tensor<6xf32>) -> tensor<1xf32>
$error('split' gives dimension 0 of result 0, which has size 12, parts of size 24 (C6))
%0 = commsched.compute "aten.view"(%t6x4xf32) {split = "a b -> (a b)"} : (tensor<6x4xf32>) -> tensor<12xf32>
$error('split' gives dimension 0 of operand 0 parts that overflow when multiplied (C6))
%0 = commsched.compute "aten.view"(%x) {
    split = "(8589934592 8589934592) -> _"} : (tensor<4xf32>) -> tensor<4xf32>
$error('split' has axis 'a' in dimension 0 of operand 0, whose size does not follow from the types (C6))
%0 = commsched.compute "aten.view"(%t6xf32) {split = "(a b) -> (a b)"} : (tensor<6xf32>) -> tensor<6xf32>
$error('split' has axis 'a' in dimension 0 of operand 0, whose size does not follow from the types (C6))
%0 = commsched.compute "aten.sin"(%t_xf32) {split = "a -> a"} : (tensor<?xf32>) -> tensor<?xf32>
$error('split' gives dimension 0 of operand 0, which has a size that is not known, axis 'a' of size 4 (C6))
%0 = commsched.compute "aten.sin"(%t_xf32) {split = "a -> a"} : (tensor<?xf32>) -> tensor<4xf32>
$error('split' has axis 'b' in result 0, but not in result 1 (C6))
%0:2 = commsched.compute "aten.var_mean"(%t6x4xf32) {split = "a b -> a b, a"} : (tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6xf32>)

// -----

func.func @compute_split(%x: tensor<6x4xf32>, %w: tensor<4x2xf32>, %s: i64, %d: tensor<?x4xf32>) {
  %0 = commsched.compute "aten.mm"(%x, %w) {split = "m k, k n -> m n"}
      : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
  %1 = commsched.compute "aten.view"(%x) {split = "(a _) b -> _ (2 a) b"}
      : (tensor<6x4xf32>) -> tensor<1x6x4xf32>
  %2 = commsched.compute "aten.softmax"(%x, %s) {split = " m _,-> m _"}
      : (tensor<6x4xf32>, i64) -> tensor<6x4xf32>
  %3 = commsched.compute "aten.softmax"(%x, %w) {split = "m _, -> m _"}
      : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x4xf32>
  %4 = commsched.compute "aten.ones"() {split = "-> a b"} : () -> tensor<6x4xf32>
  %5 = commsched.compute "aten.sin"(%d) {split = "_ a -> _ a"}
      : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}
