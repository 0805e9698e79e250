// RUN: %rows %s | commsched-test-opt --commsched-report -split-input-file -verify-diagnostics -o /dev/null

// The interfaces hold the collectives of every dialect to the rules of a
// future.

func.func @finished_without_a_start(
    // expected-note@below {{a future cannot be passed into a region or function}}
    %handle: !commsched_test.handle) {
  // expected-error@below {{'commsched_test.finish' op waits for a value that no collective of its block started (C1)}}
  %0 = commsched_test.finish %handle : tensor<4xf32>
  return
}

// -----

func.func @row(%x: tensor<4xf32>) {
  ROW
  return
}

// -----

%handle = commsched_test.exchange %x over "ring" ranks(4) : tensor<4xf32>
%0 = commsched_test.finish %handle : tensor<4xf32>

// expected-error@below {{'commsched_test.exchange' op starts a collective that is never waited for (C2)}}
%handle = commsched_test.exchange %x over "ring" ranks(4) : tensor<4xf32>

// expected-error@below {{'commsched_test.work' op says that it takes -5 ns, which must not be negative}}
%0 = commsched_test.work -5(%x) : (tensor<4xf32>) -> tensor<4xf32>
%1 = commsched_test.work 5(%x) : (tensor<4xf32>) -> tensor<4xf32>
