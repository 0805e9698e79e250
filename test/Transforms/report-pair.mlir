// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --match-full-lines
// RUN: commsched-opt %s --commsched-report=format=table -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=TABLE
// RUN: commsched-opt %s --commsched-report=format=trace -o /dev/null \
// RUN:   | %python %S/Inputs/check_trace.py | FileCheck %s --check-prefix=TRACE

// The step that runs both halves, behind the second of them; all that is
// neither half is reported as ever.

commsched.group @dp size(4)

// CHECK: {"function":"before",{{.*}}"peak_values":[{{[^]]*}}],"target":{{.*}}}
func.func @before(%x: tensor<1xi8>) {
  return
}

// 140 bytes of arguments stay. "a" allocates 20, "b" 30, "loss" 4.
// CHECK-NEXT: {"function":"step_forward","num_ops":3,{{.*}}"step_time_ns":60,{{.*}}"peak_memory_bytes":194,{{.*}}"peak_values":[{{[^]]*}}],"target":{{.*}}}
func.func @step_forward(
    %w: tensor<100xi8> {commsched.role = "parameter"},
    %x: tensor<40xi8> {commsched.role = "input"})
    -> (tensor<4xi8>, tensor<100xi8>, tensor<20xi8>, tensor<30xi8>)
    attributes {commsched.backward = @step_backward, commsched.joint = "step",
                commsched.num_forward_outputs = 1 : i64} {
  %a = commsched.compute "a"(%w, %x) {commsched.runtime_ns = 10 : i64}
      : (tensor<100xi8>, tensor<40xi8>) -> tensor<20xi8>
  %b = commsched.compute "b"(%a) {commsched.runtime_ns = 20 : i64}
      : (tensor<20xi8>) -> tensor<30xi8>
  %loss = commsched.compute "loss"(%b) {commsched.runtime_ns = 30 : i64}
      : (tensor<30xi8>) -> tensor<4xi8>
  return %loss, %w, %a, %b
      : tensor<4xi8>, tensor<100xi8>, tensor<20xi8>, tensor<30xi8>
}

// CHECK-NEXT: {"function":"between",{{.*}}"peak_values":[{{[^]]*}}],"target":{{.*}}}
func.func @between(%x: tensor<1xi8>) {
  return
}

// Alone it starts with 154 bytes; the peak is at the start, 100 + 4 that stay,
// the 100 of "dw" and 25 that come.
// CHECK-NEXT: {"function":"step_backward","num_ops":5,{{.*}}"step_time_ns":23,{{.*}}"peak_memory_bytes":229,{{.*}}"peak_position":3,"peak_values":[{{[^]]*}}],"target":{{.*}}}
//
// The input and the loss stay beside it: 40 + 4 more. Operations are numbered,
// and times counted, through both.
// CHECK-NEXT: {"function":"step","num_ops":8,"num_collectives":1,"comm_bytes":100,"step_time_ns":83,"compute_time_ns":75,"comm_time_ns":8,"exposed_comm_ns":8,"lower_bound_ns":83,"tight_lower_bound_ns":83,"merging_lower_bound_ns":83,"peak_memory_bytes":273,"collectives":[{"name":"scatter","kind":"reduce_scatter","group":"dp","bytes":100,"start_ns":75,"end_ns":83,"wait_ns":75,"exposed_ns":8,"limited_by":"nothing left to hide it: all computation has to precede it, needs it, or runs beside it","remedy":"none by scheduling; reduce bytes (wider sharding, lower precision) or add independent computation; it cannot be split: dw has no rule for splitting"}],"peak_position":6,"peak_values":[{"name":"%arg0","bytes":100,"rule":"argument"},{"name":"dw","bytes":100,"producer":5,"rule":"result"},{"name":"%arg1","bytes":40,"rule":"argument"},{"name":"scatter","bytes":25,"producer":6,"rule":"collective"},{"name":"loss","bytes":4,"producer":2,"rule":"result"},{"name":"%arg3","bytes":4,"rule":"argument"}],"forward":"step_forward","backward":"step_backward","saved_bytes":50,"target":"h100","costs":{"source":"pinned","ops":7,"measured_ops":0,"pinned_ops":7,"assumed_ops":0,"measured_percent":0},"unsized_values":0,"evidence":"simulated: costs pinned in the program (commsched.runtime_ns)"}
//
//      TABLE: function @step_backward
//      TABLE: step @step: @step_forward, then @step_backward
// TABLE-NEXT:   bytes saved 50 B
// TABLE-NEXT:   simulated: costs pinned in the program (commsched.runtime_ns)
// TABLE-NEXT:   operations 8
//      TABLE:   step time 83 ns
//      TABLE:   peak memory 273 B at operation 6, scatter
//      TABLE: function @after
//
// In its trace the backward follows the forward, and the live bytes are those
// of both.
//      TRACE: track 5 0 process_name @step
// TRACE-NEXT: track 5 1 thread_name compute
// TRACE-NEXT: track 5 2 thread_name @dp
// TRACE-NEXT: counter 5 live bytes 0 160
// TRACE-NEXT: counter 5 live bytes 10 190
// TRACE-NEXT: counter 5 live bytes 30 194
// TRACE-NEXT: counter 5 live bytes 60 228
// TRACE-NEXT: counter 5 live bytes 65 218
// TRACE-NEXT: counter 5 live bytes 70 268
// TRACE-NEXT: counter 5 live bytes 75 273
// TRACE-NEXT: counter 5 live bytes 83 173
//      TRACE: slice 5 1 0 10 a
// TRACE-NEXT: slice 5 1 10 30 b
// TRACE-NEXT: slice 5 1 30 60 loss
// TRACE-NEXT: slice 5 1 60 65 db
// TRACE-NEXT: slice 5 1 65 70 da
// TRACE-NEXT: slice 5 1 70 75 dw
// TRACE-NEXT: slice 5 1 75 83 wait for scatter
// TRACE-NEXT: slice 5 2 75 83 scatter
func.func @step_backward(
    %w: tensor<100xi8> {commsched.role = "parameter"},
    %a: tensor<20xi8> {commsched.role = "saved_activation"},
    %b: tensor<30xi8> {commsched.role = "saved_activation"},
    %tangent: tensor<4xi8> {commsched.role = "tangent"}) -> tensor<25xi8>
    attributes {commsched.forward = @step_forward, commsched.joint = "step"} {
  %db = commsched.compute "db"(%tangent, %b) {commsched.runtime_ns = 5 : i64}
      : (tensor<4xi8>, tensor<30xi8>) -> tensor<30xi8>
  %da = commsched.compute "da"(%db, %a, %w) {commsched.runtime_ns = 5 : i64}
      : (tensor<30xi8>, tensor<20xi8>, tensor<100xi8>) -> tensor<20xi8>
  %dw = commsched.compute "dw"(%da) {commsched.runtime_ns = 5 : i64}
      : (tensor<20xi8>) -> tensor<100xi8>
  %start = commsched.reduce_scatter %dw on @dp reduction(sum) dim(0)
      {commsched.name = "scatter", commsched.runtime_ns = 8 : i64}
      : tensor<100xi8> -> !commsched.future<tensor<25xi8>>
  %shard = commsched.wait %start : !commsched.future<tensor<25xi8>>
  return %shard : tensor<25xi8>
}

// CHECK-NEXT: {"function":"after",{{.*}}"peak_values":[{{[^]]*}}],"target":{{.*}}}
func.func @after(%x: tensor<1xi8>) {
  return
}
