// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

// The constraints of `commsched.wait`, which the interfaces check for the
// collectives of every dialect.

LET $future !commsched.future<tensor<4xf32>>

ROW

// -----

func.func @wait_c1_argument(
    // expected-note@below {{a future cannot be passed into a region or function}}
    %future: $future) {
  // expected-error@below {{'commsched.wait' op waits for a value that no collective of its block started (C1)}}
  %0 = commsched.wait %future : $future
  return
}

func.func private @start() -> $future
func.func @wait_c1_call() {
  // expected-note@below {{the value is defined here}}
  %future = call @start() : () -> $future
  // expected-error@below {{'commsched.wait' op waits for a value that no collective of its block started (C1)}}
  %0 = commsched.wait %future : $future
  return
}

func.func @wait_operand_type(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.wait' op operand #0 must be values that a collective is still transferring, but got 'tensor<4xf32>'}}
  %0 = "commsched.wait"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

$error(a future delivers ranked tensors, not 'f32' (C1))
func.func private @future_c1(!commsched.future<f32>)

$error(a future delivers ranked tensors, not 'tensor<*xf32>' (C1))
func.func private @future_c1_unranked(!commsched.future<tensor<4xf32>, tensor<*xf32>>)

commsched.group @dp size(2)
func.func @wait_c2_never(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.all_reduce' op starts a collective that is never waited for (C2)}}
  %future = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> $future
  return
}

commsched.group @dp size(2)
func.func @wait_c3_returned(%x: tensor<4xf32>) -> $future {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> $future
  // expected-error@below {{'func.return' op returns the future of 'commsched.all_reduce', which must be waited for in its own block (C3)}}
  return %future : $future
}

commsched.group @dp size(2)
func.func @wait_result_types(%x: tensor<4xf32>) {
  %future = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> $future
  // expected-error@below {{'commsched.wait' op failed to infer returned types}}
  // expected-error@below {{'commsched.wait' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  %0 = "commsched.wait"(%future) : ($future) -> tensor<8xf32>
  return
}

// -----

commsched.group @dp size(2)
func.func private @consume($future)
func.func @row(%x: tensor<4xf32>, %n: index) {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> $future
  ROW
  return
}

// -----

  // expected-note@below {{the first wait is here}}
  %0 = commsched.wait %future : $future
  // expected-error@below {{'commsched.wait' op waits a second time for the future of 'commsched.all_reduce' (C2)}}
  %1 = commsched.wait %future : $future
  %2 = commsched.wait %future : $future

  // expected-error@below {{'cf.br' op passes on the future of 'commsched.all_reduce', which must be waited for in its own block (C3)}}
  cf.br ^next(%future : $future)
^next(%passed: $future):
  %0 = commsched.wait %passed : $future

  cf.br ^next
^next:
  // expected-error@below {{'commsched.wait' op waits in another block for the future of 'commsched.all_reduce', which must be waited for in its own block (C3)}}
  %0 = commsched.wait %future : $future

  // expected-error@below {{'scf.for' op uses the future of 'commsched.all_reduce', which only a wait may consume (C3)}}
  %last = scf.for %i = %n to %n step %n iter_args(%in_flight = %future) -> $future {
    scf.yield %in_flight : $future
  }

  // expected-error@below {{'func.call' op uses the future of 'commsched.all_reduce', which only a wait may consume (C3)}}
  call @consume(%future) : ($future) -> ()
