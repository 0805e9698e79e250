// Unusual collectives, reducers, regions, calls and asynchronous operations.
// Each comes out as it went in, and a scheduled one can be read again.
// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -split-input-file -o %t.plain
// RUN: commsched-opt %t.mlir -split-input-file --convert-stablehlo-to-commsched \
// RUN:   --convert-commsched-to-stablehlo -o %t.back
// RUN: diff %t.plain %t.back
// RUN: commsched-opt %t.mlir -split-input-file --convert-stablehlo-to-commsched \
// RUN:   --commsched-pipeline --convert-commsched-to-stablehlo -o %t.scheduled
// RUN: commsched-opt %t.scheduled -split-input-file -o /dev/null
// RUN: commsched-opt %t.mlir -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched --remarks-filter=commsched | FileCheck %s

!t = tensor<4x4xf32>

func.func @groups(%x: !t) -> !t {
  %r = "stablehlo.all_reduce"(%x) <{
  ROW
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) {my_mark = "kept"} : (!t) -> !t
  return %r : !t
}

// -----

  // CHECK-LABEL: @groups
  // CHECK-NOT: commsched.wait
  // expected-remark@-3 {{is not converted: its groups have different sizes}}
  replica_groups = dense<[[0, -1, 2], [3, 1, -1]]> : tensor<2x3xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids

  // CHECK-LABEL: @groups
  // CHECK-NOT: commsched.wait
  // expected-remark@-3 {{is not converted: its groups have different sizes}}
  replica_groups = dense<[[0, 1], [-1, -1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids

  // CHECK-LABEL: @groups
  // CHECK: commsched.all_reduce
  replica_groups = dense<0> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids

  // CHECK-LABEL: @groups
  // CHECK: commsched.all_reduce
  replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, my_field = 3 : i64

// -----

!t = tensor<4x4xf32>

func.func @reducer(%x: !t, %k: tensor<f32>) -> !t {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    ROW
  }) : (!t) -> !t
  return %r : !t
}

// -----

    // It returns an argument, whatever it computes.
    // CHECK-LABEL: @reducer
    // CHECK-NOT: commsched.wait
    // expected-remark@-5 {{is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%a) : (tensor<f32>) -> ()

    // It uses one argument.
    // CHECK-LABEL: @reducer
    // CHECK-NOT: commsched.wait
    // expected-remark@-5 {{is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
    %s = "stablehlo.add"(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()

    // It uses a value from outside.
    // CHECK-LABEL: @reducer
    // CHECK-NOT: commsched.wait
    // expected-remark@-5 {{is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
    %s = "stablehlo.add"(%a, %k) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()

    // Two operations.
    // CHECK-LABEL: @reducer
    // CHECK-NOT: commsched.wait
    // expected-remark@-5 {{is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
    %t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %s = "stablehlo.add"(%t, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()

    // Bits of floats.
    // CHECK-LABEL: @reducer
    // CHECK-NOT: commsched.wait
    // expected-remark@-5 {{is not converted: its reducer is not defined for its elements}}
    %s = "stablehlo.and"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()

    // Another collective.
    // CHECK-LABEL: @reducer
    // CHECK-NOT: commsched.wait
    // expected-remark@-5 {{is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
    %i = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %e = "stablehlo.add"(%c, %d) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%e) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    %s = "stablehlo.add"(%i, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()

// -----

ROW
func.func @typed(%x: !x) -> !x {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (!x) -> !x
  return %r : !x
}

// -----

// CHECK-LABEL: @typed
// CHECK: commsched.all_reduce
!x = tensor<4x4xf32, #stablehlo.type_extensions<bounds = [8, 8]>>

// CHECK-LABEL: @typed
// CHECK: commsched.all_reduce
!x = tensor<0x4xf32>

// CHECK-LABEL: @typed
// CHECK-NOT: commsched.wait
// expected-remark@+3 {{is not converted: f32 is no ranked tensor}}
!x = f32

// CHECK-LABEL: @typed
// CHECK-NOT: commsched.wait
// expected-remark@+3 {{is not converted: !stablehlo.token is no ranked tensor}}
!x = !stablehlo.token

// -----

!t = tensor<4x4xf32>
!f = !stablehlo.future<tensor<16x4xf32>>

func.func @one(%x: !t, %c: tensor<4x4xcomplex<f32>>) -> !t {
  ROW
  return %r : !t
}

// -----

  // To nobody.
  // CHECK-LABEL: @one
  // CHECK: commsched.permute
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<> : tensor<0x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!t) -> !t

  // To itself.
  // CHECK-LABEL: @one
  // CHECK: commsched.permute
  %r = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!t) -> !t

  // The reducer computes in a wider type.
  // CHECK-LABEL: @one
  // CHECK-NOT: commsched.wait
  // expected-remark@+1 {{is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "stablehlo.return"(%s) : (tensor<f64>) -> ()
  }) : (!t) -> !t

  // The largest of complex numbers.
  // CHECK-LABEL: @one
  // CHECK-NOT: commsched.wait
  // expected-remark@+1 {{is not converted: its reducer is not defined for its elements}}
  %m = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = "stablehlo.maximum"(%a, %b) : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    "stablehlo.return"(%s) : (tensor<complex<f32>>) -> ()
  }) : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
  %r = "stablehlo.tanh"(%x) : (!t) -> !t

  // Nobody needs what is gathered; the attributes are as in older versions.
  // CHECK-LABEL: @one
  // CHECK: commsched.all_gather
  %g = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (!t) -> tensor<16x4xf32>
  %r = "stablehlo.tanh"(%x) : (!t) -> !t

  // Nothing is reduced.
  // CHECK-LABEL: @one
  // CHECK-NOT: commsched.wait
  // expected-remark@+1 {{is not converted: it has no operands}}
  "stablehlo.all_reduce"() <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : () -> ()
  %r = "stablehlo.tanh"(%x) : (!t) -> !t

  // An asynchronous operation without a region, and what returns its argument.
  // CHECK-LABEL: @one
  // CHECK-NOT: commsched.wait
  // expected-remark@+1 {{is not converted: its region is not one collective of its arguments}}
  %f = "stablehlo.async_start"(%x) ({
  }) : (!t) -> !f
  %d = "stablehlo.async_done"(%f) : (!f) -> tensor<16x4xf32>
  // expected-remark@+1 {{is not converted: its region is not one collective of its arguments}}
  %e = "stablehlo.async_start"(%x) ({
  ^bb0(%a: !t):
    "stablehlo.return"(%a) : (!t) -> ()
  }) : (!t) -> !stablehlo.future<!t>
  %r = "stablehlo.async_done"(%e) : (!stablehlo.future<!t>) -> !t

  // An asynchronous operation of a value from outside.
  // CHECK-LABEL: @one
  // CHECK-NOT: commsched.wait
  // expected-remark@+1 {{is not converted: its region is not one collective of its arguments}}
  %f = "stablehlo.async_start"(%x) ({
  ^bb0(%a: !t):
    %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (!t) -> tensor<16x4xf32>
    "stablehlo.return"(%g) : (tensor<16x4xf32>) -> ()
  }) : (!t) -> !f
  %d = "stablehlo.async_done"(%f) : (!f) -> tensor<16x4xf32>
  %r = "stablehlo.tanh"(%x) : (!t) -> !t

// -----

!t = tensor<4x4xf32>

func.func @manual(%x: !t) -> !t {
  %r = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
  ROW
  }) : (!t) -> !t
  return %r : !t
}
func.func private @manual.manual_computation_0()

// -----

  // Of a value from outside.
  // CHECK-LABEL: @manual(
  // CHECK: commsched.all_reduce
  ^bb0(%p: !t):
    %q = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (!t) -> !t
    "sdy.return"(%q) : (!t) -> ()

  // In another one.
  // CHECK-LABEL: @manual(
  // CHECK: commsched.all_reduce
  ^bb0(%p: !t):
    %m = "sdy.manual_computation"(%p) <{in_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@m, [{}]>]>}> ({
    ^bb0(%pp: !t):
      %q = "stablehlo.all_reduce"(%pp) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%s) : (tensor<f32>) -> ()
      }) : (!t) -> !t
      "sdy.return"(%q) : (!t) -> ()
    }) : (!t) -> !t
    "sdy.return"(%m) : (!t) -> ()

  // Nothing is returned.
  // CHECK-LABEL: @manual(
  // CHECK: commsched.all_reduce
  ^bb0(%p: !t):
    %q = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (!t) -> !t
    "sdy.return"() : () -> ()

  // Two blocks.
  // CHECK-LABEL: @manual(
  // CHECK: commsched.all_reduce
  ^bb0(%p: !t):
    %q = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (!t) -> !t
    "cf.br"()[^bb1] : () -> ()
  ^bb1:
    "sdy.return"(%q) : (!t) -> ()

  // No region.
  // CHECK-LABEL: @manual(
  // CHECK-NOT: commsched.wait

// -----

ROW

// -----

// CHECK-LABEL: @modes
// CHECK: commsched.all_reduce
// CHECK: commsched.all_reduce
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @modes(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %r = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// CHECK-LABEL: @modes_mixed
// CHECK: commsched.all_reduce
// CHECK: commsched.all_reduce
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @modes_mixed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %r = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %r : tensor<4x4xf32>
  }
}

// CHECK-LABEL: @group_name_taken
// CHECK: commsched.all_reduce
func.func private @replica_groups_0()
func.func @group_name_taken(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: @recursion
// CHECK: commsched.all_reduce
func.func @recursion(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %q = call @recursion(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.all_reduce"(%q) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK: commsched.all_reduce
%x = "stablehlo.constant"() <{value = dense<1.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
%r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  "stablehlo.return"(%s) : (tensor<f32>) -> ()
}) : (tensor<4x4xf32>) -> tensor<4x4xf32>

// CHECK-LABEL: @nested_module
// CHECK-NOT: commsched.wait
module {
  module @inner {
    func.func @nested_module(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%s) : (tensor<f32>) -> ()
      }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    }
  }
}
