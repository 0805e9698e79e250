// Collectives and asynchronous operations that are no StableHLO.
// Nothing is changed after an error.
// RUN: commsched-opt %s -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched --commsched-pipeline \
// RUN:   --convert-commsched-to-stablehlo

func.func @start_without_done(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.async_start' op starts a collective that is never waited for (C2)}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  %r = "stablehlo.tanh"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @two_dones(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  // expected-note @below {{the collective starts here}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  // expected-note @below {{the first wait is here}}
  %q = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
  // expected-error @below {{'stablehlo.async_done' op waits a second time for the future of 'stablehlo.async_start' (C2)}}
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @done_in_region(%x: tensor<4x4xf32>, %y: tensor<16x4xf32>, %c: tensor<i1>) -> tensor<16x4xf32> {
  // expected-note @below {{the collective starts here}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  %r = "stablehlo.if"(%c) ({
  // expected-error @below {{'stablehlo.async_done' op waits in another block for the future of 'stablehlo.async_start', which must be waited for in its own block (C3)}}
  %d = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
    "stablehlo.return"(%d) : (tensor<16x4xf32>) -> ()
  }, {
    "stablehlo.return"(%y) : (tensor<16x4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @future_returned(%x: tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>> {
  // expected-note @below {{the collective starts here}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  // expected-error @below {{'func.return' op returns the future of 'stablehlo.async_start', which must be waited for in its own block (C3)}}
  return %f : !stablehlo.future<tensor<16x4xf32>>
}

// -----

// expected-note @below {{a future cannot be passed into a region or function}}
func.func @future_argument(%f: !stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32> {
  // expected-error @below {{'stablehlo.async_done' op waits for a value that no collective of its block started (C1)}}
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @future_barrier(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  // expected-note @below {{the collective starts here}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  // expected-error @below {{'stablehlo.optimization_barrier' op uses the future of 'stablehlo.async_start', which only a wait may consume (C3)}}
  %h = "stablehlo.optimization_barrier"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> !stablehlo.future<tensor<16x4xf32>>
  %r = "stablehlo.async_done"(%h) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @async_wrong_future(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  // expected-error @below {{'stablehlo.async_start' op returns a '!stablehlo.future<tensor<8x4xf32>>', but its collective is a '!stablehlo.future<tensor<16x4xf32>>'}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    // expected-note @below {{the collective is here}}
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<8x4xf32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8x4xf32>>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @done_wrong_type(%x: tensor<4x4xf32>) -> tensor<16x4xi32> {
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    // expected-note @below {{the collective is here}}
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  // expected-error @below {{'stablehlo.async_done' op delivers 'tensor<16x4xi32>', but its collective 'tensor<16x4xf32>'}}
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xi32>
  return %r : tensor<16x4xi32>
}

// -----

func.func @reducer_missing(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op has 0 regions, but reduces by one}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}>  : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @gather_wrong_result(%x: tensor<4x4xf32>) -> tensor<12x4xf32> {
  // expected-error @below {{'stablehlo.all_gather' op result 0 is a 'tensor<12x4xf32>', but a group of 4 devices delivers a 'tensor<16x4xf32>' for a 'tensor<4x4xf32>'}}
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<12x4xf32>
  return %r : tensor<12x4xf32>
}

// -----

func.func @gather_dim_range(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  // expected-error @below {{'stablehlo.all_gather' op attribute 'all_gather_dim' is 7, which is not in [0, 2), the dimensions of its operand}}
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = 7 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @gather_dim_missing(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  // expected-error @below {{'stablehlo.all_gather' op lacks the attribute 'all_gather_dim'}}
  %r = "stablehlo.all_gather"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @gather_dim_negative(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  // expected-error @below {{'stablehlo.all_gather' op attribute 'all_gather_dim' is -1, which is not in [0, 2), the dimensions of its operand}}
  %r = "stablehlo.all_gather"(%x) <{all_gather_dim = -1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @scatter_indivisible(%x: tensor<6x4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{'stablehlo.reduce_scatter' op splits 'tensor<6x4xf32>' along dimension 0 among the devices of a group, of which there are 4}}
  %r = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<6x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// -----

func.func @all_to_all_count(%x: tensor<4x4xf32>) -> tensor<1x16xf32> {
  // expected-error @below {{'stablehlo.all_to_all' op attribute 'split_count' is 3, but its groups have 4 devices}}
  %r = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 3 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<1x16xf32>
  return %r : tensor<1x16xf32>
}

// -----

func.func @all_to_all_indivisible(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  // expected-error @below {{'stablehlo.all_to_all' op splits 'tensor<6x4xf32>' along dimension 0 among the devices of a group, of which there are 4}}
  %r = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// -----

func.func @two_results_one_operand(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op has 1 operands but 2 results}}
  %r:2 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return %r#0 : tensor<4x4xf32>
}

// -----

func.func @ragged_config(%x: tensor<4x4xf32>, %i: tensor<4xi64>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.custom_call' op attribute 'replica_groups' must be a matrix of i64, not 3 : i64}}
  %r = "stablehlo.custom_call"(%x, %x, %i, %i, %i, %i) <{api_version = 4 : i32, backend_config = {replica_groups = 3 : i64}, call_target_name = "ragged_all_to_all"}> : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @marks_taken(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.all_reduce' op has the attribute 'stablehlo.properties', which only starts of the dialect have}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) {stablehlo.properties = {x = 1 : i64}, stablehlo.async = 3 : i64, commsched.name = "n", stablehlo.named} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @manual_start_inside_done_outside(%x: tensor<4x4xf32>) -> tensor<16x4xf32> {
  %f = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ^bb0(%p: tensor<4x4xf32>):
  // expected-note @below {{the collective starts here}}
  %g = "stablehlo.async_start"(%p) ({
  ^bb0(%ag: tensor<4x4xf32>):
    %gg = "stablehlo.all_gather"(%ag) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gg) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
    // expected-error @below {{'sdy.return' op returns the future of 'stablehlo.async_start', which must be waited for in its own block (C3)}}
    "sdy.return"(%g) : (!stablehlo.future<tensor<16x4xf32>>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

func.func @while_start_outside(%x: tensor<4x4xf32>, %c: tensor<i1>) -> tensor<4x4xf32> {
  // expected-note @below {{the collective starts here}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%af: tensor<4x4xf32>):
    %gf = "stablehlo.all_gather"(%af) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<16x4xf32>
    "stablehlo.return"(%gf) : (tensor<16x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<16x4xf32>>
  %w = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4x4xf32>):
  // expected-error @below {{'stablehlo.async_done' op waits in another block for the future of 'stablehlo.async_start', which must be waited for in its own block (C3)}}
  %d = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<16x4xf32>>) -> tensor<16x4xf32>
    "stablehlo.return"(%a) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %w : tensor<4x4xf32>
}

// -----

func.func @no_results(%x: tensor<4x4xf32>) {
  // expected-error @below {{'stablehlo.all_gather' op has 1 operands but 0 results}}
  "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> ()
  return
}
