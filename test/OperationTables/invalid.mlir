// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics

// expected-note @below {{a future cannot be passed into a region or function}}
func.func @argument(%f: !stablehlo.future<tensor<256xf32>>) {
  // expected-error @below {{waits for a value that no collective of its block started}}
  %g = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<256xf32>>) -> tensor<256xf32>
  return
}

// -----

func.func @row(%w: tensor<128xf32>, %c: tensor<i1>) {
  ROW
  return
}

// -----

// expected-error @below {{starts a collective that is never waited for}}
%f = "stablehlo.async_start"(%w) ({
^bb0(%a: tensor<128xf32>):
  %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<128xf32>) -> tensor<256xf32>
  "stablehlo.return"(%g) : (tensor<256xf32>) -> ()
}) : (tensor<128xf32>) -> !stablehlo.future<tensor<256xf32>>

// expected-note @below {{the collective starts here}}
%f = "stablehlo.async_start"(%w) ({
^bb0(%a: tensor<128xf32>):
  %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<128xf32>) -> tensor<256xf32>
  "stablehlo.return"(%g) : (tensor<256xf32>) -> ()
}) : (tensor<128xf32>) -> !stablehlo.future<tensor<256xf32>>
%r = "stablehlo.if"(%c) ({
  // expected-error @below {{waits in another block for the future of 'stablehlo.async_start'}}
  %g = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<256xf32>>) -> tensor<256xf32>
  "stablehlo.return"(%g) : (tensor<256xf32>) -> ()
}, {
  %z = "stablehlo.constant"() <{value = dense<0.0> : tensor<256xf32>}> : () -> tensor<256xf32>
  "stablehlo.return"(%z) : (tensor<256xf32>) -> ()
}) : (tensor<i1>) -> tensor<256xf32>

// expected-error @below {{is a constant without the attribute 'value'}}
%0 = "stablehlo.constant"() : () -> tensor<f32>

// expected-error @below {{must be the last operation in the parent block}}
"stablehlo.return"() : () -> ()
