// DEFINE: %{raise} = --commsched-reorder-comms-preserving-peak-memory
// DEFINE: %{sink} = --commsched-sink-waits-iterative
// DEFINE: %{kept} = reorder_iterative_unsafe_collectives_reorder=false

// A second run of a pass on this program. Where collectives keep their order,
// raising is done after the first, and so is sinking.
// RUN: commsched-opt %s %{raise}=%{kept} > %t.kept
// RUN: FileCheck %s --check-prefix=KEPT < %t.kept
// RUN: commsched-opt %t.kept %{raise}=%{kept} | diff - %t.kept
// RUN: commsched-opt %s %{sink} > %t.sunk
// RUN: FileCheck %s --check-prefix=SUNK < %t.sunk
// RUN: commsched-opt %t.sunk %{sink} | diff - %t.sunk

// Where they do not, each start passes those that were raised before it: a
// second run finds them in the opposite order and turns it around again.
// RUN: commsched-opt %s %{raise} | FileCheck %s --check-prefix=ONCE
// RUN: commsched-opt %s %{raise} %{raise} | FileCheck %s --check-prefix=TWICE
// RUN: commsched-opt %s %{raise} %{raise} > %t.twice
// RUN: commsched-opt %s %{raise} %{raise} %{raise} %{raise} | diff - %t.twice

commsched.group @g size(2)

// KEPT-LABEL: func.func @f(
// KEPT-NEXT: "first"
// KEPT-NEXT: "second"
// KEPT-NEXT: "a"
// ONCE-LABEL: func.func @f(
// ONCE-NEXT: "second"
// ONCE-NEXT: "first"
// ONCE-NEXT: "a"
// TWICE-LABEL: func.func @f(
// TWICE-NEXT: "first"
// TWICE-NEXT: "second"
// TWICE-NEXT: "a"
// SUNK-LABEL: func.func @f(
// SUNK-NEXT: "a"
// SUNK-NEXT: "first"
// SUNK-NEXT: "wait1"
// SUNK-NEXT: "second"
// SUNK-NEXT: "b"
// SUNK-NEXT: "wait2"
func.func @f(%x: tensor<8xi8>)
    -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>, tensor<8xi8>) {
  %a = commsched.compute "a"(%x) : (tensor<8xi8>) -> tensor<8xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "first"}
      : tensor<8xi8> -> !commsched.future<tensor<8xi8>>
  %w = commsched.wait %f {commsched.name = "wait1"}
      : !commsched.future<tensor<8xi8>>
  %f1 = commsched.all_reduce %x on @g reduction(max)
      {commsched.name = "second"}
      : tensor<8xi8> -> !commsched.future<tensor<8xi8>>
  %w1 = commsched.wait %f1 {commsched.name = "wait2"}
      : !commsched.future<tensor<8xi8>>
  %b = commsched.compute "b"(%x) : (tensor<8xi8>) -> tensor<8xi8>
  return %a, %w, %w1, %b
      : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>, tensor<8xi8>
}
