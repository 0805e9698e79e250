// RUN: commsched-opt %s --commsched-order-collectives -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-raise-comms -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-sink-waits -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-reorder-compute-for-overlap -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-reorder-comms-preserving-peak-memory -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-sink-waits-iterative -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-simple-overlap -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-inductor-pipeline -split-input-file -verify-diagnostics
// RUN: commsched-opt %s --commsched-report -split-input-file -verify-diagnostics

// Numbers that contradict the order of the program are an error to every pass
// that relies on them.

commsched.group @g size(2)
commsched.group @h size(2)

func.func @descending(%a: tensor<4xf32>) {
  // expected-note @below {{that collective is here}}
  %f = commsched.all_reduce %a on @g reduction(sum) {commsched.order = 3 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %f1 = commsched.all_reduce %a on @g reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error @below {{'commsched.all_reduce' op has commsched.order 2, but starts after a collective with 3}}
  %f2 = commsched.all_reduce %a on @h reduction(sum) {commsched.order = 2 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>>
  return
}

// -----

commsched.group @g size(2)

func.func @equal() {
  // expected-note @below {{that collective is here}}
  commsched.barrier on @g {commsched.order = 1 : i64}
  // expected-error @below {{'commsched.barrier' op has commsched.order 1, but starts after a collective with 1}}
  commsched.barrier on @g {commsched.order = 1 : i64}
  return
}
