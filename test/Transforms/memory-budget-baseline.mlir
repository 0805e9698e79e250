// DEFINE: %{passes} =
// DEFINE: %{run} = commsched-opt \
// DEFINE:   --pass-pipeline="builtin.module(func.func(%{passes}))"
// DEFINE: %{report} = commsched-opt --commsched-report=format=json -o /dev/null
// DEFINE: %{forget} = sed 's/ attributes {commsched.baseline_peak_bytes = [0-9]* : i64}//'

// RUN: %{report} %s | FileCheck %s --check-prefix=INPUT

// A fraction is one of the peak before the first pass, so that three passes with
// 20 % each stay within 20 %.
// REDEFINE: %{passes} = commsched-reorder-comms-preserving-peak-memory
// RUN: %{run} %s > %t.1
// RUN: %{report} %t.1 | FileCheck %s --check-prefix=WITHIN
// REDEFINE: %{passes} = commsched-sink-waits-iterative
// RUN: %{run} %t.1 > %t.2
// RUN: %{report} %t.2 | FileCheck %s --check-prefix=BOTH-WITHIN
// REDEFINE: %{passes} = commsched-reorder-comms-preserving-peak-memory, \
// REDEFINE:   commsched-sink-waits-iterative, \
// REDEFINE:   commsched-reorder-comms-preserving-peak-memory, \
// REDEFINE:   commsched-sink-waits-iterative, \
// REDEFINE:   commsched-reorder-comms-preserving-peak-memory, \
// REDEFINE:   commsched-sink-waits-iterative
// RUN: %{run} %s > %t.3
// RUN: FileCheck %s < %t.3
// RUN: %{report} %t.3 | FileCheck %s --check-prefix=BOTH-WITHIN

// If each pass had to take the peak that it finds, they would go further.
// REDEFINE: %{passes} = commsched-reorder-comms-preserving-peak-memory, \
// REDEFINE:   commsched-sink-waits-iterative
// RUN: %{run} %s | %{forget} > %t.4
// RUN: %{run} %t.4 | %{forget} > %t.5
// RUN: %{run} %t.5 > %t.6
// RUN: %{report} %t.6 | FileCheck %s --check-prefix=BEYOND

!b50 = tensor<50xi8>
!b100 = tensor<100xi8>
!b1000 = tensor<1000xi8>
!sent50 = !commsched.future<!b50>
!sent100 = !commsched.future<!b100>
commsched.group @g size(2)

// Six results of 100 bytes, of which two fit above "use" beside 1,101 bytes.
// INPUT: "function":"raised"
// INPUT-SAME: "peak_memory_bytes":1101,
// WITHIN: "function":"raised"
// WITHIN-SAME: "peak_memory_bytes":1301,
// BOTH-WITHIN: "function":"raised"
// BOTH-WITHIN-SAME: "peak_memory_bytes":1301,
// BEYOND: "function":"raised"
// BEYOND-SAME: "peak_memory_bytes":1701,
// CHECK: func.func @raised(
// CHECK-SAME: attributes {commsched.baseline_peak_bytes = 1101 : i64}
func.func @raised(%x: !b100) -> (!b100, !b100, !b100, !b100,
        !b100, !b100, tensor<1xi8>) {
  %make = commsched.compute "make"() : () -> !b1000
  %use = commsched.compute "use"(%make) : (!b1000) -> tensor<1xi8>
  %f0 = commsched.all_reduce %x on @g reduction(max) : !b100 -> !sent100
  %w0 = commsched.wait %f0 : !sent100
  %f1 = commsched.all_reduce %x on @g reduction(max) : !b100 -> !sent100
  %w1 = commsched.wait %f1 : !sent100
  %f2 = commsched.all_reduce %x on @g reduction(max) : !b100 -> !sent100
  %w2 = commsched.wait %f2 : !sent100
  %f3 = commsched.all_reduce %x on @g reduction(max) : !b100 -> !sent100
  %w3 = commsched.wait %f3 : !sent100
  %f4 = commsched.all_reduce %x on @g reduction(max) : !b100 -> !sent100
  %w4 = commsched.wait %f4 : !sent100
  %f5 = commsched.all_reduce %x on @g reduction(max) : !b100 -> !sent100
  %w5 = commsched.wait %f5 : !sent100
  return %w0, %w1, %w2, %w3, %w4, %w5, %use : !b100, !b100, !b100,
      !b100, !b100, !b100, tensor<1xi8>
}

// Six operands of 100 bytes, of which two may stay until "large" is there beside
// 1,300 bytes.
// INPUT: "function":"sunk"
// INPUT-SAME: "peak_memory_bytes":1300,
// WITHIN: "function":"sunk"
// WITHIN-SAME: "peak_memory_bytes":1300,
// BOTH-WITHIN: "function":"sunk"
// BOTH-WITHIN-SAME: "peak_memory_bytes":1500,
// BEYOND: "function":"sunk"
// BEYOND-SAME: "peak_memory_bytes":1900,
// CHECK: func.func @sunk(
// CHECK-SAME: attributes {commsched.baseline_peak_bytes = 1300 : i64}
func.func @sunk() -> (!b50, !b50, !b50, !b50, !b50, !b50, !b1000) {
  %m0 = commsched.compute "make"() : () -> !b100
  %f0 = commsched.reduce_scatter %m0 on @g reduction(max) dim(0) : !b100 -> !sent50
  %m1 = commsched.compute "make"() : () -> !b100
  %f1 = commsched.reduce_scatter %m1 on @g reduction(max) dim(0) : !b100 -> !sent50
  %m2 = commsched.compute "make"() : () -> !b100
  %f2 = commsched.reduce_scatter %m2 on @g reduction(max) dim(0) : !b100 -> !sent50
  %m3 = commsched.compute "make"() : () -> !b100
  %f3 = commsched.reduce_scatter %m3 on @g reduction(max) dim(0) : !b100 -> !sent50
  %m4 = commsched.compute "make"() : () -> !b100
  %f4 = commsched.reduce_scatter %m4 on @g reduction(max) dim(0) : !b100 -> !sent50
  %m5 = commsched.compute "make"() : () -> !b100
  %f5 = commsched.reduce_scatter %m5 on @g reduction(max) dim(0) : !b100 -> !sent50
  %w0 = commsched.wait %f0 : !sent50
  %w1 = commsched.wait %f1 : !sent50
  %w2 = commsched.wait %f2 : !sent50
  %w3 = commsched.wait %f3 : !sent50
  %w4 = commsched.wait %f4 : !sent50
  %w5 = commsched.wait %f5 : !sent50
  %large = commsched.compute "large"() : () -> !b1000
  return %w0, %w1, %w2, %w3, %w4, %w5, %large : !b50, !b50, !b50, !b50,
        !b50, !b50, !b1000
}
