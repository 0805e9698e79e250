// DEFINE: %{options} =
// DEFINE: %{raise} = commsched-opt %s \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory="%{options}"
// DEFINE: %{report} = commsched-opt --commsched-report=format=json -o /dev/null

// REDEFINE: %{options} = memory-budget=136
// RUN: %{raise} > %t.136
// RUN: FileCheck %s --check-prefix=ROOM < %t.136
// RUN: %{report} %t.136 | FileCheck %s --check-prefix=PEAK-136
// REDEFINE: %{options} = memory-budget=110
// RUN: %{raise} > %t.110
// RUN: FileCheck %s --check-prefix=TIGHT < %t.110
// RUN: %{report} %t.110 | FileCheck %s --check-prefix=PEAK-88
// REDEFINE: %{options} = memory-budget=0
// RUN: %{raise} > %t.0
// RUN: FileCheck %s --check-prefix=NONE < %t.0
// RUN: %{report} %t.0 | FileCheck %s --check-prefix=PEAK-LEAST

// What a smaller budget makes of a program.

commsched.group @g size(6)

// A start that rises above the slice, and a start that is there already: both
// take 136 bytes. With 110 the slice frees its operand first, which takes 88.
// PEAK-136: "function":"below_the_slice"
// PEAK-136-SAME: "peak_memory_bytes":136,
// PEAK-88: "function":"below_the_slice"
// PEAK-88-SAME: "peak_memory_bytes":88,
// ROOM-LABEL: func.func @below_the_slice(
// ROOM-NEXT: commsched.all_gather
// ROOM-NEXT: "slice"
// TIGHT-LABEL: func.func @below_the_slice(
// TIGHT-NOT: baseline
// TIGHT: "slice"
// TIGHT-NEXT: commsched.all_gather
func.func @below_the_slice(%x: tensor<8xi8>,
                           %y: tensor<64xi8> {commsched.freeable})
    -> (tensor<16xi8>, tensor<48xi8>) {
  %slice = commsched.compute "slice"(%y) : (tensor<64xi8>) -> tensor<16xi8>
  %f = commsched.all_gather %x on @g dim(0)
      : tensor<8xi8> -> !commsched.future<tensor<48xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<48xi8>>
  return %slice, %w : tensor<16xi8>, tensor<48xi8>
}

// PEAK-136: "function":"above_the_slice"
// PEAK-136-SAME: "peak_memory_bytes":136,
// PEAK-88: "function":"above_the_slice"
// PEAK-88-SAME: "peak_memory_bytes":88,
// ROOM-LABEL: func.func @above_the_slice(
// ROOM-NEXT: commsched.all_gather
// ROOM-NEXT: "slice"
// TIGHT-LABEL: func.func @above_the_slice(
// TIGHT-SAME: attributes {commsched.baseline_peak_bytes = 136 : i64}
// TIGHT-NEXT: "slice"
// TIGHT-NEXT: commsched.all_gather
func.func @above_the_slice(%x: tensor<8xi8>,
                           %y: tensor<64xi8> {commsched.freeable})
    -> (tensor<16xi8>, tensor<48xi8>) {
  %f = commsched.all_gather %x on @g dim(0)
      : tensor<8xi8> -> !commsched.future<tensor<48xi8>>
  %slice = commsched.compute "slice"(%y) : (tensor<64xi8>) -> tensor<16xi8>
  %w = commsched.wait %f : !commsched.future<tensor<48xi8>>
  return %slice, %w : tensor<16xi8>, tensor<48xi8>
}

// Without any budget: what frees most comes first, and what takes most last.
// PEAK-LEAST: "function":"least"
// PEAK-LEAST-SAME: "peak_memory_bytes":105,
// NONE-LABEL: func.func @least(
// NONE-SAME: attributes {commsched.baseline_peak_bytes = 155 : i64}
// NONE-NEXT: "frees_more"
// NONE-NEXT: "frees"
// NONE-NEXT: "takes"
// NONE-NEXT: commsched.all_gather
func.func @least(%x: tensor<8xi8>, %a: tensor<64xi8> {commsched.freeable},
                 %b: tensor<32xi8> {commsched.freeable})
    -> (tensor<2xi8>, tensor<1xi8>, tensor<1xi8>, tensor<48xi8>) {
  %f = commsched.all_gather %x on @g dim(0)
      : tensor<8xi8> -> !commsched.future<tensor<48xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<48xi8>>
  %takes = commsched.compute "takes"(%x) : (tensor<8xi8>) -> tensor<2xi8>
  %frees = commsched.compute "frees"(%b) : (tensor<32xi8>) -> tensor<1xi8>
  %more = commsched.compute "frees_more"(%a) : (tensor<64xi8>) -> tensor<1xi8>
  return %takes, %frees, %more, %w
      : tensor<2xi8>, tensor<1xi8>, tensor<1xi8>, tensor<48xi8>
}

// A buffer updated in place by what permutes deliver is one storage of 40 bytes:
// no copy is made of it, wherever the starts are. Beside it, x and y there is one
// result of 4 bytes in the program, and there are two when both starts are up.
// PEAK-136: "function":"updated_in_place"
// PEAK-136-SAME: "num_ops":7,
// PEAK-136-SAME: "peak_memory_bytes":56,
// PEAK-LEAST: "function":"updated_in_place"
// PEAK-LEAST-SAME: "peak_memory_bytes":52,
// ROOM-LABEL: func.func @updated_in_place(
// ROOM-NEXT: "second"
// ROOM-NEXT: "first"
// ROOM-NEXT: "buffer"
// ROOM-NEXT: commsched.wait
// ROOM-NEXT: tensor.insert_slice
// ROOM-NEXT: commsched.wait
// ROOM-NEXT: tensor.insert_slice
func.func @updated_in_place(%x: tensor<4xi8>, %y: tensor<4xi8>)
    -> tensor<40xi8> {
  %buffer = commsched.compute "buffer"(%x) : (tensor<4xi8>) -> tensor<40xi8>
  %f = commsched.permute %x on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "first"}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %0 = tensor.insert_slice %w into %buffer[0] [4] [1]
      : tensor<4xi8> into tensor<40xi8>
  %f1 = commsched.permute %y on @g
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      {commsched.name = "second"}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xi8>>
  %1 = tensor.insert_slice %w1 into %0[4] [4] [1]
      : tensor<4xi8> into tensor<40xi8>
  return %1 : tensor<40xi8>
}
