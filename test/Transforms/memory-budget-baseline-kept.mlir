// RUN: %rows %s > %t.mlir
// DEFINE: %{run} = commsched-opt %t.mlir

// RUN: %{run} --commsched-reorder-comms-preserving-peak-memory | FileCheck %s \
// RUN:   --check-prefixes=CHECK,ITERATIVE
// RUN: %{run} --commsched-reorder-comms-preserving-peak-memory=reorder_sink_verbose_logging=true \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ITERATIVE
// RUN: %{run} --commsched-simple-overlap | FileCheck %s --check-prefixes=CHECK,SIMPLE
// RUN: %{run} --commsched-reorder-for-peak-memory \
// RUN:   --commsched-reorder-comms-preserving-peak-memory | FileCheck %s --check-prefix=AFTER

// Who moves something keeps the peak that the function had before on it, and
// nobody else.

!t = tensor<32xi8>
!future = !commsched.future<!t>
commsched.group @g size(2)

// CHECK-LABEL: func.func @moved({{.*}}attributes {commsched.baseline_peak_bytes = 96 : i64}
func.func @moved(%x: !t) -> (!t, !t) {
  %a = commsched.compute "a"(%x) : (!t) -> !t
  $run(%w = all_reduce %x on @g reduction(max) : !t -> !t)
  return %a, %w : !t, !t
}

// CHECK-LABEL: func.func @stays(
// CHECK-NOT: baseline
func.func @stays(%x: !t) -> !t {
  $run(%w = all_reduce %x on @g reduction(max) : !t -> !t)
  return %w : !t
}

// An earlier one counts: a start that needs 192 bytes may rise where the
// function's own peak is 160.
// CHECK-LABEL: func.func @earlier(
// ITERATIVE-SAME: attributes {commsched.baseline_peak_bytes = 160 : i64}
// ITERATIVE-NEXT: commsched.all_reduce
// SIMPLE-SAME: attributes {commsched.baseline_peak_bytes = 160 : i64}
// SIMPLE-NEXT: "make"
// SIMPLE-NEXT: "use"
// SIMPLE-NEXT: commsched.all_reduce
// CHECK: return
func.func @earlier(%x: !t) -> (!t, tensor<1xi8>, !t)
    attributes {commsched.baseline_peak_bytes = 160 : i64} {
  %make = commsched.compute "make"() : () -> tensor<94xi8>
  %use = commsched.compute "use"(%make) : (tensor<94xi8>) -> tensor<1xi8>
  %b = commsched.compute "b"(%x) : (!t) -> !t
  $run(%w = all_reduce %x on @g reduction(max) : !t -> !t)
  return %b, %use, %w : !t, tensor<1xi8>, !t
}

// The peak of one block of several is not the function's.
// CHECK-LABEL: func.func @blocks(
// CHECK-NOT: baseline
// CHECK: "large"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: "a"
// CHECK: {{^ *}}^bb1:
// CHECK-NEXT: "large"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: "b"
func.func @blocks(%x: !t, %c: i1) {
  %large = commsched.compute "large"() : () -> tensor<64xi8>
  %a = commsched.compute "a"(%x) : (!t) -> !t
  $run(%w = all_reduce %x on @g reduction(max) : !t -> !t)
  cf.cond_br %c, ^body, ^end
^body:
  %large1 = commsched.compute "large"() : () -> tensor<64xi8>
  %b = commsched.compute "b"(%x) : (!t) -> !t
  $run(%w1 = all_reduce %x on @g reduction(max) : !t -> !t)
  cf.br ^end
^end:
  return
}

// What a block inside changes, its function keeps as well.
// CHECK-LABEL: func.func @region({{.*}}commsched.baseline_peak_bytes = 96 : i64
// CHECK: scf.if
// CHECK-NEXT: "large"
// CHECK-NEXT: commsched.all_reduce
// CHECK-NEXT: "a"
func.func @region(%x: !t, %c: i1) {
  scf.if %c {
    %large = commsched.compute "large"() : () -> tensor<64xi8>
    %a = commsched.compute "a"(%x) : (!t) -> !t
    $run(%w = all_reduce %x on @g reduction(max) : !t -> !t)
  }
  return
}

// After reordering for peak memory, which lowers this one's peak from 53 bytes to
// 42, the baseline is still the first: the start may rise where it takes 58.
// AFTER-LABEL: func.func @lowered_before(
// AFTER-SAME: attributes {commsched.baseline_peak_bytes = 53 : i64}
// AFTER-NEXT: commsched.all_reduce
// AFTER-NEXT: "a"
// AFTER-NEXT: "c"
// AFTER-NEXT: "b"
// AFTER-NEXT: "d"
func.func @lowered_before(%x: tensor<20xi8>) -> (tensor<1xi8>, tensor<1xi8>, tensor<20xi8>) {
  %a = commsched.compute "a"() : () -> tensor<16xi8>
  %b = commsched.compute "b"() : () -> tensor<16xi8>
  %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
  %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
  $run(%w = all_reduce %x on @g reduction(max) : tensor<20xi8> -> tensor<20xi8>)
  return %c, %d, %w : tensor<1xi8>, tensor<1xi8>, tensor<20xi8>
}
