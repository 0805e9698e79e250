// RUN: %rows %s | commsched-test-opt -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched

LET $start %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%p: tensor<8xf32>):
    %1 = "stablehlo.all_gather"(%p) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
    "stablehlo.return"(%1) : (tensor<16xf32>) -> ()
  }) : (tensor<8xf32>) -> !stablehlo.future<tensor<16xf32>>

// Futures of a linked dialect, which may verify less than the dialects by name.

// expected-note@+1 {{the value is defined here}}
func.func @argument(%x: !stablehlo.future<tensor<16xf32>>) -> tensor<16xf32> {
  // expected-error@+1 {{'stablehlo.async_done' op waits for a value that no 'stablehlo.async_start' of its block returns}}
  %0 = "stablehlo.async_done"(%x) : (!stablehlo.future<tensor<16xf32>>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

func.func @row(%x: tensor<8xf32>) {
  ROW
  return
}

// -----

// expected-error@+1 {{'stablehlo.async_start' op has no 'stablehlo.async_done': its future is not used}}
$start

  // expected-note@+1 {{the future comes from here}}
  $start
  // expected-note@+1 {{the other use is here}}
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<16xf32>>) -> tensor<16xf32>
  // expected-error@+1 {{'stablehlo.async_done' op uses a future that was used before}}
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<16xf32>>) -> tensor<16xf32>

// expected-note@+1 {{the future comes from here}}
$start
%1 = scf.execute_region -> tensor<16xf32> {
  // expected-error@+1 {{'stablehlo.async_done' op is in another block than the 'stablehlo.async_start' of its future}}
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<16xf32>>) -> tensor<16xf32>
  scf.yield %2 : tensor<16xf32>
}

  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%p: tensor<8xf32>):
    // expected-note@+1 {{the collective is here}}
    %1 = "stablehlo.all_gather"(%p) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<16xf32>
    "stablehlo.return"(%1) : (tensor<16xf32>) -> ()
  }) : (tensor<8xf32>) -> !stablehlo.future<tensor<16xf32>>
  // expected-error@+1 {{'stablehlo.async_done' op delivers 'tensor<8xf32>', but its collective 'tensor<16xf32>'}}
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<16xf32>>) -> tensor<8xf32>

// -----

func.func @returned(%x: tensor<8xf32>) -> !stablehlo.future<tensor<16xf32>> {
  // expected-note@+1 {{the future comes from here}}
  $start
  // expected-error@+1 {{'func.return' op uses a future, but only 'stablehlo.async_done' may}}
  return %0 : !stablehlo.future<tensor<16xf32>>
}
