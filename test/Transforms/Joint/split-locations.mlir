// RUN: commsched-opt %s --commsched-partition-joint --mlir-print-debuginfo \
// RUN:   --mlir-print-local-scope | FileCheck %s

// Both halves keep the locations of the joint function, its arguments,
// operations and return.

// CHECK-LABEL: func.func private @f_forward({{.*}}tensor<4xf32> {commsched.role = "input"} loc("x")
// CHECK-NEXT: commsched.compute "sin"{{.*}}loc("sin")
// CHECK-NEXT: return{{.*}}loc("end")
// CHECK-NEXT: } loc("joint")
// CHECK-LABEL: func.func private @f_backward({{.*}}loc("x"){{.*}}loc("dy")
// CHECK-NEXT: commsched.compute "back"{{.*}}loc("back")
// CHECK-NEXT: return{{.*}}loc("end")
// CHECK-NEXT: } loc("joint")
func.func @f(%x: tensor<4xf32> {commsched.role = "input"} loc("x"),
             %dy: tensor<4xf32> {commsched.role = "tangent"} loc("dy"))
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %y = commsched.compute "sin"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("sin")
  %dx = commsched.compute "back"(%dy, %x)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("back")
  return %y, %dx : tensor<4xf32>, tensor<4xf32> loc("end")
} loc("joint")
