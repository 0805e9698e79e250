// Collectives and asynchronous operations that are no StableHLO.
// Nothing is changed after an error.
// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched --commsched-pipeline --convert-commsched-to-stablehlo

LET $groups channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids
LET $gather(X) "stablehlo.all_gather"(X) <{all_gather_dim = 0 : i64, $groups}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
LET $start(F = X) F = "stablehlo.async_start"(X) ({
  ^bb0(%a: tensor<4x4xf32>):
    %b = $gather(%a)
    "stablehlo.return"(%b) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
LET $sum ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  })

// expected-note @below {{a future cannot be passed into a region or function}}
func.func @future_argument(%f: !stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32> {
  // expected-error @below {{'stablehlo.async_done' op waits for a value that no collective of its block started (C1)}}
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @row(%x: tensor<4x4xf32>) {
  ROW
  return
}

// -----

  // expected-error @below {{'stablehlo.async_start' op starts a collective that is never waited for (C2)}}
  $start(%f = %x)
  %r = "stablehlo.tanh"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>

  // expected-error @below {{'stablehlo.async_start' op returns a '!stablehlo.future<tensor<8x4xf32>>', but its collective is a '!stablehlo.future<tensor<16x4xf32>>'}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    // expected-note @below {{the collective is here}}
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, $groups}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<8x4xf32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8x4xf32>>) -> tensor<16x4xf32>

  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    // expected-note @below {{the collective is here}}
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, $groups}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  // expected-error @below {{'stablehlo.async_done' op delivers 'tensor<16x4xi32>', but its collective 'tensor<16x4xf32>'}}
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xi32>

  // expected-error @below {{'stablehlo.all_reduce' op has the attribute 'stablehlo.properties', which only starts of the dialect have}}
  %r = "stablehlo.all_reduce"(%x) <{$groups}> $sum {stablehlo.properties = {x = 1 : i64}, stablehlo.async = 3 : i64, commsched.name = "n", stablehlo.named} : (tensor<4x4xf32>) -> tensor<4x4xf32>

  %f = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ^bb0(%p: tensor<4x4xf32>):
  // expected-note @below {{the collective starts here}}
  $start(%g = %p)
    // expected-error @below {{'sdy.return' op returns the future of 'stablehlo.async_start', which must be waited for in its own block (C3)}}
    "sdy.return"(%g) : (!stablehlo.future<tensor<16x4xf32>>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>

  // expected-error @below {{'stablehlo.all_reduce' op attribute 'channel_handle' must be a #stablehlo.channel_handle<handle = H, type = T>, not #stablehlo.channel_handle<handle = one>}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = one>}> $sum : (tensor<4x4xf32>) -> tensor<4x4xf32>

  // expected-error @below {{'stablehlo.all_reduce' op attribute 'replica_groups' must be a matrix of i64, not dense_resource<groups> : tensor<1x4xi64>}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense_resource<groups> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> $sum : (tensor<4x4xf32>) -> tensor<4x4xf32>

  // expected-error @below {{'stablehlo.all_reduce' op 'replica_groups' lists the device 9223372036854775807 in group 0, but there are at most 16777216 devices}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 9223372036854775807]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> $sum : (tensor<4x4xf32>) -> tensor<4x4xf32>
