// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics

// What tables say of operations; Conversion/StableHlo has the rules of collectives.

func.func @row() {
  ROW
  return
}

// -----

// expected-error @below {{is a constant without the attribute 'value'}}
%0 = "stablehlo.constant"() : () -> tensor<f32>

// expected-error @below {{must be the last operation in the parent block}}
"stablehlo.return"() : () -> ()
