// With an operation that is marked to be computed again, the strategy default
// makes a minimum cut and says so; a mark on what the backward or nobody uses
// counts as well. "cos" is cheap: eager execution would save it.

// DEFINE: %{split} = commsched-opt %s --remarks-filter=commsched
// RUN: %{split} --commsched-partition-joint=strategy=default -o %t.default \
// RUN:   2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %{split} --commsched-partition-joint -o %t.cut 2>&1 | FileCheck %s --check-prefix=SILENT
// RUN: FileCheck %s --input-file=%t.default

// SILENT-NOT: DefaultIsMinCut

// CHECK-LABEL: func.func private @must_backward(
// CHECK: "aten.cos"
// REMARK: :[[#@LINE+9]]:8: remark: [Analysis] DefaultIsMinCut{{.*}}Function=must | {{.*}}'strategy=default' makes a minimum cut, as 'strategy=min-cut' does, for 'again' is marked to be computed again
// REMARK: OperatorCounts{{.*}}Function=must_forward | Operations=3, Remark="operators of the forward: 2 aten.cos, 1 aten.exp"
// REMARK: OperatorCounts{{.*}}Function=must_backward | Operations=3, Remark="operators of the backward: 2 aten.cos, 1 aten.mul"
// REMARK: OperatorCounts{{.*}}Function=must | Operations=2, Remark="operators that both compute: 2 aten.cos"
func.func @must(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %a = commsched.compute "aten.cos"(%x) {commsched.name = "again",
      commsched.recompute = "must_recompute"}
      : (tensor<4xf32>) -> tensor<4xf32>
  %b = commsched.compute "aten.cos"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %y = commsched.compute "aten.exp"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %g = commsched.compute "aten.mul"(%dy, %a, %b)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func private @unused_backward(
// CHECK: "aten.cos"
// REMARK: DefaultIsMinCut{{.*}}Function=unused
func.func @unused(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %b = commsched.compute "aten.cos"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = commsched.compute "aten.exp"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %c = commsched.compute "aten.sin"(%y) {
      commsched.recompute = "prefer_recompute"}
      : (tensor<4xf32>) -> tensor<4xf32>
  %g = commsched.compute "aten.mul"(%dy, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}

// A mark that asks to save changes nothing.

// CHECK-LABEL: func.func private @saved_backward(
// CHECK-NOT: "aten.cos"
// REMARK-NOT: DefaultIsMinCut
func.func @saved(
    %x: tensor<4xf32> {commsched.role = "input"},
    %dy: tensor<4xf32> {commsched.role = "tangent"})
    -> (tensor<4xf32>, tensor<4xf32>)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %a = commsched.compute "aten.sin"(%x) {commsched.recompute = "must_save"}
      : (tensor<4xf32>) -> tensor<4xf32>
  %b = commsched.compute "aten.cos"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = commsched.compute "aten.exp"(%b, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = commsched.compute "aten.mul"(%dy, %b, %a)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y, %g : tensor<4xf32>, tensor<4xf32>
}
