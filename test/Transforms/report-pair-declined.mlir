// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   -split-input-file --remarks-filter=commsched \
// RUN:   --verify-diagnostics | FileCheck %s --implicit-check-not=forward

// Halves that do not fit each other are reported each for itself.

// CHECK: "function":"f"
// CHECK: "function":"b"
// expected-remark@+1 {{@f and @b are not simulated together: @f saves 1 values, but @b has 0 arguments}}
func.func @f(%x: tensor<8xi8>) -> tensor<8xi8>
    attributes {commsched.backward = @b, commsched.joint = "joint",
                commsched.num_forward_outputs = 0 : i64} {
  return %x : tensor<8xi8>
}
func.func @b() attributes {commsched.forward = @f} {
  return
}

// -----

// expected-remark@+1 {{@f and @b are not simulated together: saved value 1 of @f is a tensor<2xi8>, but argument 1 of @b is a tensor<3xi8>}}
func.func @f(%x: tensor<8xi8>, %y: tensor<2xi8>)
    -> (tensor<8xi8>, tensor<2xi8>)
    attributes {commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64} {
  return %x, %y : tensor<8xi8>, tensor<2xi8>
}
func.func @b(%x: tensor<8xi8>, %y: tensor<3xi8>)
    attributes {commsched.forward = @f} {
  return
}

// -----

// expected-remark@+1 {{@f does not say which of its results are saved}}
func.func @f(%x: tensor<8xi8>) -> tensor<8xi8>
    attributes {commsched.backward = @b} {
  return %x : tensor<8xi8>
}
func.func @b(%x: tensor<8xi8>) attributes {commsched.forward = @f} {
  return
}

// -----

// What is missing is said once, of the half that lacks it.

// CHECK: "function":"b"
// expected-remark@+1 {{@f is not simulated: its body has several blocks}}
func.func @f(%x: tensor<8xi8>) -> tensor<8xi8>
    attributes {commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64} {
  cf.br ^end
^end:
  return %x : tensor<8xi8>
}
func.func @b(%x: tensor<8xi8>) attributes {commsched.forward = @f} {
  return
}

// -----

// Links that lead nowhere, or not back, make no pair.

// CHECK: "function":"f"
// CHECK: "function":"g"
// CHECK: "function":"b"
func.func @f(%x: tensor<8xi8>) -> tensor<8xi8>
    attributes {commsched.backward = @b,
                commsched.num_forward_outputs = 0 : i64} {
  return %x : tensor<8xi8>
}
func.func @g() attributes {commsched.backward = @missing} {
  return
}
func.func @b(%x: tensor<8xi8>) attributes {commsched.forward = @g} {
  return
}

// -----

// expected-remark@+1 {{@f and @b are not simulated together: @f ends with 'ub.unreachable', which does not return its results}}
func.func @f(%x: tensor<8xi8>) -> tensor<8xi8>
    attributes {commsched.backward = @b, commsched.joint = "joint",
                commsched.num_forward_outputs = 0 : i64} {
  ub.unreachable
}
func.func @b(%x: tensor<8xi8>) attributes {commsched.forward = @f} {
  return
}
