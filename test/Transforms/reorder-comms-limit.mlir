// DEFINE: %{options} =
// DEFINE: %{remarks} = --remark-policy=all --remark-format=emitRemark \
// DEFINE:   --remarks-filter=commsched -o /dev/null 2>&1

// REDEFINE: %{options} = reorder_iterative_debug_limit_to_reorder=0
// RUN: commsched-opt %s --commsched-reorder-comms-preserving-peak-memory="memory-budget=1000 %{options}" | FileCheck %s --check-prefix=INPUT
// REDEFINE: %{options} = reorder_iterative_debug_limit_to_reorder=1
// RUN: commsched-opt %s --commsched-reorder-comms-preserving-peak-memory="memory-budget=1000 %{options}" %{remarks} \
// RUN:   | FileCheck %s --check-prefix=FIRST --implicit-check-not=remark:
// REDEFINE: %{options} = reorder_iterative_debug_limit_to_reorder=-1
// RUN: commsched-opt %s --commsched-reorder-comms-preserving-peak-memory="memory-budget=1000 %{options}" %{remarks} \
// RUN:   | FileCheck %s --check-prefixes=FIRST,SECOND --implicit-check-not=remark:
// REDEFINE: %{options} = sink_waits_iterative_debug_limit_to_sink=0
// RUN: commsched-opt %s --commsched-sink-waits-iterative="memory-budget=1000 %{options}" | FileCheck %s --check-prefix=INPUT
// REDEFINE: %{options} = sink_waits_iterative_debug_limit_to_sink=1
// RUN: commsched-opt %s --commsched-sink-waits-iterative="memory-budget=1000 %{options}" %{remarks} \
// RUN:   | FileCheck %s --check-prefix=LAST --implicit-check-not=remark:

// Only so many collectives are looked at: starts from the first of the program
// on, waits from the last.

commsched.group @g size(2)

// INPUT-LABEL: func.func @f(
// INPUT-NOT: baseline
// INPUT: "a"
// INPUT-NEXT: "first"
// INPUT-NEXT: commsched.wait
// INPUT-NEXT: "second"
// INPUT-NEXT: commsched.wait
// INPUT-NEXT: "b"
// FIRST: remark: {{.*}}'first': its start moves up by 1, limited by nothing
// SECOND: remark: {{.*}}'second': its start moves up by 3, limited by nothing
// LAST: remark: {{.*}}'second': its wait moves down by 1, limited by nothing
func.func @f(%x: tensor<8xi8>)
    -> (tensor<8xi8>, tensor<8xi8>, tensor<8xi8>, tensor<8xi8>) {
  %a = commsched.compute "a"(%x) : (tensor<8xi8>) -> tensor<8xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "first"}
      : tensor<8xi8> -> !commsched.future<tensor<8xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<8xi8>>
  %f1 = commsched.all_reduce %x on @g reduction(max)
      {commsched.name = "second"}
      : tensor<8xi8> -> !commsched.future<tensor<8xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<8xi8>>
  %b = commsched.compute "b"(%x) : (tensor<8xi8>) -> tensor<8xi8>
  return %a, %w, %w1, %b
      : tensor<8xi8>, tensor<8xi8>, tensor<8xi8>, tensor<8xi8>
}
