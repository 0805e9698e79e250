// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics -allow-unregistered-dialect

// The constraints of `commsched.wait`, which the interfaces check for the
// collectives of every dialect.

commsched.group @dp size(2)

func.func @wait(%x: tensor<4xf32>) {
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  "foreign.op"(%x) : (tensor<4xf32>) -> ()
  %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

// -----

ROW

// -----

func.func @wait_c1_argument(
    // expected-note@below {{a future cannot be passed into a region or function}}
    %future: !commsched.future<tensor<4xf32>>) {
  // expected-error@below {{'commsched.wait' op waits for a value that no collective of its block started (C1)}}
  %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

func.func private @start() -> !commsched.future<tensor<4xf32>>
func.func @wait_c1_call() {
  // expected-note@below {{the value is defined here}}
  %future = call @start() : () -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'commsched.wait' op waits for a value that no collective of its block started (C1)}}
  %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

func.func @wait_c1_unregistered() {
  // expected-note@below {{the value is defined here}}
  %future = "foreign.start"() : () -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'commsched.wait' op waits for a value that no collective of its block started (C1)}}
  %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

func.func @wait_operand_type(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.wait' op operand #0 must be values that a collective is still transferring, but got 'tensor<4xf32>'}}
  %0 = "commsched.wait"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// expected-error@below {{a future delivers ranked tensors, not 'f32' (C1)}}
func.func private @future_c1(!commsched.future<f32>)

// expected-error@below {{a future delivers ranked tensors, not 'tensor<*xf32>' (C1)}}
func.func private @future_c1_unranked(!commsched.future<tensor<4xf32>, tensor<*xf32>>)

// -----

commsched.group @dp size(2)
ROW

// -----

func.func @wait_c2_twice(%x: tensor<4xf32>) {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-note@below {{the first wait is here}}
  %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  // expected-error@below {{'commsched.wait' op waits a second time for the future of 'commsched.all_reduce' (C2)}}
  %1 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  %2 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

func.func @wait_c2_never(%x: tensor<4xf32>) {
  // expected-error@below {{'commsched.all_reduce' op starts a collective that is never waited for (C2)}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  return
}

func.func @wait_c3_returned(%x: tensor<4xf32>)
    -> !commsched.future<tensor<4xf32>> {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'func.return' op returns the future of 'commsched.all_reduce', which must be waited for in its own block (C3)}}
  return %future : !commsched.future<tensor<4xf32>>
}

func.func @wait_c3_branch(%x: tensor<4xf32>) {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'cf.br' op passes on the future of 'commsched.all_reduce', which must be waited for in its own block (C3)}}
  cf.br ^next(%future : !commsched.future<tensor<4xf32>>)
^next(%passed: !commsched.future<tensor<4xf32>>):
  %0 = commsched.wait %passed : !commsched.future<tensor<4xf32>>
  return
}

func.func @wait_c3_other_block(%x: tensor<4xf32>) {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  cf.br ^next
^next:
  // expected-error@below {{'commsched.wait' op waits in another block for the future of 'commsched.all_reduce', which must be waited for in its own block (C3)}}
  %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

func.func @wait_c3_region(%x: tensor<4xf32>, %condition: i1) {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  scf.if %condition {
    // expected-error@below {{'commsched.wait' op waits in another block for the future of 'commsched.all_reduce', which must be waited for in its own block (C3)}}
    %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  }
  return
}

func.func @wait_c3_loop_carried(%x: tensor<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'scf.for' op uses the future of 'commsched.all_reduce', which only a wait may consume (C3)}}
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%in_flight = %future)
      -> !commsched.future<tensor<4xf32>> {
    scf.yield %in_flight : !commsched.future<tensor<4xf32>>
  }
  return
}

func.func private @consume(!commsched.future<tensor<4xf32>>)
func.func @wait_c3_call(%x: tensor<4xf32>) {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'func.call' op uses the future of 'commsched.all_reduce', which only a wait may consume (C3)}}
  call @consume(%future) : (!commsched.future<tensor<4xf32>>) -> ()
  return
}

func.func @wait_c3_stored(%x: tensor<4xf32>) {
  // expected-note@below {{the collective starts here}}
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'foreign.store' op uses the future of 'commsched.all_reduce', which only a wait may consume (C3)}}
  "foreign.store"(%future) : (!commsched.future<tensor<4xf32>>) -> ()
  %0 = commsched.wait %future : !commsched.future<tensor<4xf32>>
  return
}

func.func @wait_result_types(%x: tensor<4xf32>) {
  %future = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{'commsched.wait' op failed to infer returned types}}
  // expected-error@below {{'commsched.wait' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  %0 = "commsched.wait"(%future)
      : (!commsched.future<tensor<4xf32>>) -> tensor<8xf32>
  return
}
