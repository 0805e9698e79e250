// DEFINE: %{verbose} = reorder_sink_verbose_logging=true
// DEFINE: %{run} = commsched-opt %s \
// DEFINE:   --commsched-sink-waits-iterative \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory=%{verbose}

// RUN: %{run} --commsched-report=format=json -o %t | FileCheck %s --check-prefix=JSON
// RUN: FileCheck %s < %t
// RUN: commsched-opt %s > %t.input
// RUN: sed 's/, commsched.reorder_info = {[^}]*}//' %t | diff - %t.input

// Where collectives are in their places, they stay: nothing but the account of
// that is written, one entry for each collective.

commsched.group @fsdp size(2)
commsched.group @tp size(4)

// One launch for two tensors, which a sum hides, and the result of which is
// waited for at the end.
// JSON: "function":"coalesced"
// JSON-SAME: "reorder":{"start":{"comm_ns":10,"compute_ns":10,"exposed_before_ns":0,"exposed_after_ns":0,"moves":0,"grouped":0,"limiting_factor":"nothing",
// JSON-SAME: }}}]
// CHECK-LABEL: func.func @coalesced(
// CHECK-NOT: baseline
// CHECK: return
func.func @coalesced(%x: tensor<16xi8>, %inp: tensor<16xi8>)
    -> (tensor<16xi8>, tensor<8xi8>, tensor<8xi8>) {
  %f = commsched.reduce_scatter %x, %inp on @fsdp reduction(max) dim(0)
      {commsched.name = "rs", commsched.runtime_ns = 10 : i64}
      : tensor<16xi8>, tensor<16xi8>
      -> !commsched.future<tensor<8xi8>, tensor<8xi8>>
  %y = commsched.compute "add"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<16xi8>) -> tensor<16xi8>
  %w:2 = commsched.wait %f : !commsched.future<tensor<8xi8>, tensor<8xi8>>
  return %y, %w#0, %w#1 : tensor<16xi8>, tensor<8xi8>, tensor<8xi8>
}

// A gather over one axis of the mesh, and of what it delivers over another.
// JSON: "function":"two_axes"
// JSON-SAME: "name":"tp",{{[^}]*}}"reorder":{"start":{{[^}]*}}"moves":0,"grouped":0,"limiting_factor":"nothing"
// JSON-SAME: "name":"fsdp",{{[^}]*}}"reorder":{"start":{{[^}]*}}"moves":0,"grouped":1,"limiting_factor":"data dependence with commsched.all_gather 'tp', a collective"
// CHECK-LABEL: func.func @two_axes(
// CHECK-NOT: baseline
// CHECK: "tp"
// CHECK: "fsdp"
func.func @two_axes(%x: tensor<4xi8>) -> tensor<32xi8> {
  %f = commsched.all_gather %x on @tp dim(0)
      {commsched.name = "tp", commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<16xi8>>
  %f1 = commsched.all_gather %w on @fsdp dim(0)
      {commsched.name = "fsdp", commsched.runtime_ns = 10 : i64}
      : tensor<16xi8> -> !commsched.future<tensor<32xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<32xi8>>
  return %w1 : tensor<32xi8>
}
