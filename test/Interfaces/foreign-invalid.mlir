// RUN: %rows %s | commsched-test-opt -split-input-file -verify-diagnostics

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

  // expected-note@below {{the collective starts here}}
  %handle = commsched_test.exchange %x over "ring" ranks(4) : tensor<4xf32>
  // expected-note@below {{the first wait is here}}
  %0 = commsched_test.finish %handle : tensor<4xf32>
  // expected-error@below {{'commsched_test.finish' op waits a second time for the future of 'commsched_test.exchange' (C2)}}
  %1 = commsched_test.finish %handle : tensor<4xf32>

// expected-error@below {{'commsched_test.exchange' op starts a collective that is never waited for (C2)}}
%handle = commsched_test.exchange %x over "ring" ranks(4) : tensor<4xf32>

// -----

func.func @returned(%x: tensor<4xf32>) -> !commsched_test.handle {
  // expected-note@below {{the collective starts here}}
  %handle = commsched_test.exchange %x over "ring" ranks(4) : tensor<4xf32>
  // expected-error@below {{'func.return' op returns the future of 'commsched_test.exchange', which must be waited for in its own block (C3)}}
  return %handle : !commsched_test.handle
}
