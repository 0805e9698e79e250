// RUN: commsched-opt %s --convert-stablehlo-to-commsched | FileCheck %s

// A module that was read from HLO says which arguments of `main` are donated.
// The elements of a tuple are no arguments.

module attributes {mhlo.input_output_alias = [
    {alias = {kind = "may_alias", parameter_index = array<i64>,
              parameter_number = 1 : i64}, output_index = array<i64: 0>},
    {alias = {kind = "must_alias", parameter_index = array<i64: 0>,
              parameter_number = 2 : i64}, output_index = array<i64: 1>},
    {alias = {kind = "may_alias", parameter_index = array<i64>,
              parameter_number = 7 : i64}, output_index = array<i64: 2>}]} {

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{[^:]*}}: tensor<8xf32>, %{{[^:]*}}: tensor<8xf32> {commsched.freeable}, %{{[^:]*}}: tensor<8xf32>)
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.add"(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func private @other({{.*}}%{{[^:]*}}: tensor<8xf32>, %{{[^:]*}}: tensor<8xf32>)
func.func private @other(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  return %y : tensor<8xf32>
}

}
