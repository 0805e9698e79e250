// What may move: pure operations and calls without side effects. What may not:
// unknown operations and calls with side effects, which are barriers.

// RUN: commsched-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CSE
// RUN: commsched-opt %s --commsched-raise-comms | FileCheck %s --check-prefix=RAISE
// RUN: commsched-opt %s --commsched-raise-comms --remarks-filter=commsched -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: commsched-opt %s --commsched-schedule --remarks-filter=commsched -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// REMARK-DAG: custom_call is a barrier: its effects are not known
// REMARK-DAG: of_tomorrow is a barrier: its effects are not known
// REMARK-DAG: all_gather is a barrier: its effects are not known

// CSE-LABEL: func.func @equal
func.func @equal(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CSE: "stablehlo.custom_call"
  // CSE-NEXT: "stablehlo.custom_call"{{.*}}has_side_effect = true
  // CSE-NEXT: "stablehlo.custom_call"{{.*}}has_side_effect = true
  // CSE-NEXT: return
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "f", has_side_effect = false}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.custom_call"(%x) <{call_target_name = "f", has_side_effect = false}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.custom_call"(%x) <{call_target_name = "f", has_side_effect = true}> : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "stablehlo.custom_call"(%x) <{call_target_name = "f", has_side_effect = true}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// RAISE-LABEL: func.func @barriers
func.func @barriers(%x: tensor<1024xf32>, %w: tensor<128xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
  // RAISE: "stablehlo.custom_call"{{.*}}has_side_effect = true
  // RAISE: "stablehlo.async_start"
  // RAISE: "stablehlo.custom_call"{{.*}}has_side_effect = false
  // RAISE: "stablehlo.async_done"
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "log", has_side_effect = true}> : (tensor<1024xf32>) -> tensor<1024xf32>
  %1 = "stablehlo.custom_call"(%0) <{call_target_name = "f", has_side_effect = false}> : (tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.async_start"(%w) ({
  ^bb0(%a: tensor<128xf32>):
    %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> : (tensor<128xf32>) -> tensor<1024xf32>
    "stablehlo.return"(%g) : (tensor<1024xf32>) -> ()
  }) : (tensor<128xf32>) -> !stablehlo.future<tensor<1024xf32>>
  %g = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<1024xf32>>) -> tensor<1024xf32>
  return %1, %g : tensor<1024xf32>, tensor<1024xf32>
}

// An operation that no table describes, and a collective whose group is not a
// matrix of ranks.
// RAISE-LABEL: func.func @unknown
func.func @unknown(%w: tensor<128xf32>) -> tensor<1024xf32> {
  // RAISE: "stablehlo.of_tomorrow"
  // RAISE-NEXT: "stablehlo.all_gather"
  // RAISE-NEXT: "stablehlo.async_start"
  "stablehlo.of_tomorrow"() : () -> ()
  "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_groups<dynamic>}> : (tensor<128xf32>) -> tensor<1024xf32>
  %f = "stablehlo.async_start"(%w) ({
  ^bb0(%a: tensor<128xf32>):
    %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> : (tensor<128xf32>) -> tensor<1024xf32>
    "stablehlo.return"(%g) : (tensor<1024xf32>) -> ()
  }) : (tensor<128xf32>) -> !stablehlo.future<tensor<1024xf32>>
  %g = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<1024xf32>>) -> tensor<1024xf32>
  return %g : tensor<1024xf32>
}
