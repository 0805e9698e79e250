// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --match-full-lines
// RUN: commsched-opt %t.mlir --commsched-report=format=table -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=TABLE

// A step that calls its halves is simulated with the operations of both.

!t = tensor<100xi8>
!u = tensor<20xi8>
commsched.group @dp size(4)

// 140 bytes of arguments stay. "a" allocates 20, "b" 30, "loss" 4.
// CHECK: {"function":"step_forward","num_ops":3,{{.*}}"step_time_ns":60,{{.*}}"peak_memory_bytes":194,{{.*}}"peak_values":[{{[^]]*}}],"target":{{.*}}}
func.func @step_forward(%w: !t $parameter, %x: tensor<40xi8> $in) -> (tensor<4xi8>, !t, !u, tensor<30xi8>) {
  $take(%a = a %w, %x in 10 ns : (!t, tensor<40xi8>) -> !u)
  $take(%b = b %a in 20 ns : (!u) -> tensor<30xi8>)
  $take(%loss = loss %b in 30 ns : (tensor<30xi8>) -> tensor<4xi8>)
  return %loss, %w, %a, %b : tensor<4xi8>, !t, !u, tensor<30xi8>
}

// Alone it starts with 154 bytes; the peak is at the start, 100 + 4 that stay,
// the 100 of "dw" and 25 that come.
// CHECK-NEXT: {"function":"step_backward","num_ops":5,{{.*}}"step_time_ns":23,{{.*}}"peak_memory_bytes":229,{{.*}}"peak_position":3,"peak_values":[{{[^]]*}}],"target":{{.*}}}
func.func @step_backward(%w: !t $parameter, %a: !u $saved, %b: tensor<30xi8> $saved,
    %tangent: tensor<4xi8> $tangent) -> tensor<25xi8> {
  $take(%db = db %tangent, %b in 5 ns : (tensor<4xi8>, tensor<30xi8>) -> tensor<30xi8>)
  $take(%da = da %db, %a, %w in 5 ns : (tensor<30xi8>, !u, !t) -> !u)
  %dw = commsched.compute "dw"(%da) {commsched.runtime_ns = 5} : (!u) -> !t
  $run(%shard = reduce_scatter %dw on @dp reduction(sum) dim(0)
      {commsched.name = "scatter", commsched.runtime_ns = 8}
      : !t -> tensor<25xi8>)
  return %shard : tensor<25xi8>
}

// The input and the loss stay beside it: 40 + 4 more. Operations are numbered,
// and times counted, through both. The bounds are those of one function: with more
// memory the reduction could be hidden behind the loss.
// CHECK-NEXT: {"function":"step","num_ops":8,"num_collectives":1,"comm_bytes":100,"step_time_ns":83,"compute_time_ns":75,"comm_time_ns":8,"exposed_comm_ns":8,"lower_bound_ns":75,"tight_lower_bound_ns":75,"merging_lower_bound_ns":75,"peak_memory_bytes":273,"collectives":[{"name":"scatter","kind":"reduce_scatter","group":"dp","bytes":100,"start_ns":75,"end_ns":83,"wait_ns":75,"exposed_ns":8,"limited_by":"budget short by 30 B, at loss, for starting it, with what prepares it, before loss","remedy":"30 B more, which would make the step 8 ns shorter","exact":{"gain_ns":8,"bytes_short":30}}],"peak_position":6,"peak_values":[{"name":"%arg0","bytes":100,"rule":"argument"},{"name":"dw","bytes":100,"producer":5,"rule":"result"},{"name":"%arg1","bytes":40,"rule":"argument"},{"name":"scatter","bytes":25,"producer":6,"rule":"collective"},{"name":"%arg2","bytes":4,"rule":"argument"},{"name":"loss","bytes":4,"producer":2,"rule":"result"}],"target":"h100","costs":{"source":"pinned","ops":7,"measured_ops":0,"pinned_ops":7,"assumed_ops":0,"measured_percent":0},"unsized_values":0,"evidence":"simulated: costs pinned in the program (commsched.runtime_ns)"}
//
//      TABLE: function @step{{$}}
// TABLE-NEXT:   simulated: costs pinned in the program (commsched.runtime_ns)
// TABLE-NEXT:   operations 8
//      TABLE:   step time 83 ns
//      TABLE:   peak memory 273 B at operation 6, scatter
func.func @step(%w: !t $parameter, %x: tensor<40xi8> $in, %tangent: tensor<4xi8> $tangent) -> (tensor<4xi8>,
    tensor<25xi8>) {
  %f:4 = call @step_forward(%w, %x) : (!t, tensor<40xi8>) -> (tensor<4xi8>, !t, !u, tensor<30xi8>)
  %shard = call @step_backward(%f#1, %f#2, %f#3, %tangent) : (!t, !u,
      tensor<30xi8>, tensor<4xi8>) -> tensor<25xi8>
  return %f#0, %shard : tensor<4xi8>, tensor<25xi8>
}
