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
func.func @raised(%x: tensor<100xi8>)
    -> (tensor<100xi8>, tensor<100xi8>, tensor<100xi8>, tensor<100xi8>,
        tensor<100xi8>, tensor<100xi8>, tensor<1xi8>) {
  %make = commsched.compute "make"() : () -> tensor<1000xi8>
  %use = commsched.compute "use"(%make) : (tensor<1000xi8>) -> tensor<1xi8>
  %f0 = commsched.all_reduce %x on @g reduction(max)
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w0 = commsched.wait %f0 : !commsched.future<tensor<100xi8>>
  %f1 = commsched.all_reduce %x on @g reduction(max)
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<100xi8>>
  %f2 = commsched.all_reduce %x on @g reduction(max)
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<100xi8>>
  %f3 = commsched.all_reduce %x on @g reduction(max)
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<100xi8>>
  %f4 = commsched.all_reduce %x on @g reduction(max)
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w4 = commsched.wait %f4 : !commsched.future<tensor<100xi8>>
  %f5 = commsched.all_reduce %x on @g reduction(max)
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w5 = commsched.wait %f5 : !commsched.future<tensor<100xi8>>
  return %w0, %w1, %w2, %w3, %w4, %w5, %use
      : tensor<100xi8>, tensor<100xi8>, tensor<100xi8>,
      tensor<100xi8>, tensor<100xi8>, tensor<100xi8>, tensor<1xi8>
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
func.func @sunk()
    -> (tensor<50xi8>, tensor<50xi8>, tensor<50xi8>, tensor<50xi8>,
        tensor<50xi8>, tensor<50xi8>, tensor<1000xi8>) {
  %m0 = commsched.compute "make"() : () -> tensor<100xi8>
  %f0 = commsched.reduce_scatter %m0 on @g reduction(max) dim(0)
      : tensor<100xi8> -> !commsched.future<tensor<50xi8>>
  %m1 = commsched.compute "make"() : () -> tensor<100xi8>
  %f1 = commsched.reduce_scatter %m1 on @g reduction(max) dim(0)
      : tensor<100xi8> -> !commsched.future<tensor<50xi8>>
  %m2 = commsched.compute "make"() : () -> tensor<100xi8>
  %f2 = commsched.reduce_scatter %m2 on @g reduction(max) dim(0)
      : tensor<100xi8> -> !commsched.future<tensor<50xi8>>
  %m3 = commsched.compute "make"() : () -> tensor<100xi8>
  %f3 = commsched.reduce_scatter %m3 on @g reduction(max) dim(0)
      : tensor<100xi8> -> !commsched.future<tensor<50xi8>>
  %m4 = commsched.compute "make"() : () -> tensor<100xi8>
  %f4 = commsched.reduce_scatter %m4 on @g reduction(max) dim(0)
      : tensor<100xi8> -> !commsched.future<tensor<50xi8>>
  %m5 = commsched.compute "make"() : () -> tensor<100xi8>
  %f5 = commsched.reduce_scatter %m5 on @g reduction(max) dim(0)
      : tensor<100xi8> -> !commsched.future<tensor<50xi8>>
  %w0 = commsched.wait %f0 : !commsched.future<tensor<50xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<50xi8>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<50xi8>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<50xi8>>
  %w4 = commsched.wait %f4 : !commsched.future<tensor<50xi8>>
  %w5 = commsched.wait %f5 : !commsched.future<tensor<50xi8>>
  %large = commsched.compute "large"() : () -> tensor<1000xi8>
  return %w0, %w1, %w2, %w3, %w4, %w5, %large
      : tensor<50xi8>, tensor<50xi8>, tensor<50xi8>, tensor<50xi8>,
        tensor<50xi8>, tensor<50xi8>, tensor<1000xi8>
}
