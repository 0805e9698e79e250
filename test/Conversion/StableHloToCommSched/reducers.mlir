// RUN: commsched-opt %s -split-input-file -verify-diagnostics \
// RUN:   --convert-stablehlo-to-commsched --remarks-filter=commsched | FileCheck %s

// A reducer is one operation of both arguments.

// CHECK-LABEL: func.func @add_f32(
// CHECK: commsched.all_reduce %{{.*}} on @replica_groups_0 reduction(sum)
// CHECK-SAME: : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
func.func @add_f32(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @maximum_bf16(
// CHECK: commsched.all_reduce %{{.*}} on @replica_groups_0 reduction(max)
// CHECK-SAME: : tensor<4xbf16> -> !commsched.future<tensor<4xbf16>>
func.func @maximum_bf16(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %c = "stablehlo.maximum"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%c) : (tensor<bf16>) -> ()
  }) : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: func.func @minimum_i32(
// CHECK: commsched.all_reduce %{{.*}} on @replica_groups_0 reduction(min)
// CHECK-SAME: : tensor<4xi32> -> !commsched.future<tensor<4xi32>>
func.func @minimum_i32(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = "stablehlo.minimum"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// CHECK-LABEL: func.func @multiply_complex_f32(
// CHECK: commsched.all_reduce %{{.*}} on @replica_groups_0 reduction(prod)
// CHECK-SAME: : tensor<4xcomplex<f32>> -> !commsched.future<tensor<4xcomplex<f32>>>
func.func @multiply_complex_f32(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %c = "stablehlo.multiply"(%a, %b) : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    "stablehlo.return"(%c) : (tensor<complex<f32>>) -> ()
  }) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// CHECK-LABEL: func.func @and_i1(
// CHECK: commsched.all_reduce %{{.*}} on @replica_groups_0 reduction(band)
// CHECK-SAME: : tensor<4xi1> -> !commsched.future<tensor<4xi1>>
func.func @and_i1(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %c = "stablehlo.and"(%a, %b) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) : (tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @or_i1(
// CHECK: commsched.all_reduce %{{.*}} on @replica_groups_0 reduction(bor)
// CHECK-SAME: : tensor<4xi1> -> !commsched.future<tensor<4xi1>>
func.func @or_i1(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %c = "stablehlo.or"(%a, %b) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }) : (tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @add_ui8(
// CHECK: commsched.all_reduce %{{.*}} on @replica_groups_0 reduction(sum)
// CHECK-SAME: : tensor<4xui8> -> !commsched.future<tensor<4xui8>>
func.func @add_ui8(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
    %c = "stablehlo.add"(%a, %b) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
    "stablehlo.return"(%c) : (tensor<ui8>) -> ()
  }) : (tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// -----

// CHECK-LABEL: func.func @swapped(
// CHECK: commsched.all_reduce {{.*}} reduction(sum) {{.*}}stablehlo.reducer = 
func.func @swapped(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%b, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @one_argument(
// CHECK: "stablehlo.all_reduce"
func.func @one_argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{stablehlo.all_reduce is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @annotated(
// CHECK: commsched.all_reduce {{.*}} reduction(sum) {{.*}}stablehlo.reducer = 
func.func @annotated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) {precise} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @two_operations(
// CHECK: "stablehlo.all_reduce"
func.func @two_operations(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{stablehlo.all_reduce is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %d = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %c = "stablehlo.add"(%d, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @not_computed(
// CHECK: "stablehlo.all_reduce"
func.func @not_computed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{stablehlo.all_reduce is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @wider(
// CHECK: "stablehlo.all_reduce"
func.func @wider(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // expected-remark@+1 {{stablehlo.all_reduce is not converted: its reducer is not one of add, maximum, minimum, multiply, and, or, xor of its results' elements}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// CHECK-LABEL: func.func @maximum_complex(
// CHECK: "stablehlo.all_reduce"
func.func @maximum_complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-remark@+1 {{stablehlo.all_reduce is not converted: its reducer is not defined for its elements}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %c = "stablehlo.maximum"(%a, %b) : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
    "stablehlo.return"(%c) : (tensor<complex<f32>>) -> ()
  }) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @and_float(
// CHECK: "stablehlo.all_reduce"
func.func @and_float(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{stablehlo.all_reduce is not converted: its reducer is not defined for its elements}}
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.and"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
