// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --strict-whitespace --match-full-lines

// One object a line and function, with these keys in this order. A function
// without body has none, and so has a module without functions.
//
// RUN: echo "module {}" | commsched-opt --commsched-report=format=json -o /dev/null | count 0

// The report runs after other passes on what they left.
// RUN: commsched-opt %s --commsched-sink-waits --commsched-raise-comms \
// RUN:   --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=SCHEDULED
// SCHEDULED: "function":"timeline",{{.*}}"step_time_ns":170,
// SCHEDULED-SAME: "name":"gather_b",{{.*}}"start_ns":100,"end_ns":150,"wait_ns":130,"exposed_ns":20

// A trace has a process a function, a track a stream, a slice for everything that
// takes time and for every stall, a flow from a collective to the end of the stall
// that it causes, and a counter of live bytes. (track: process, thread, kind, name;
// slice: process, thread, begin, end, name; flow: begin, end; counter: process,
// name, time, bytes.)
// RUN: commsched-opt %s --commsched-report=format=trace -o /dev/null \
// RUN:   | %python %S/Inputs/check_trace.py | FileCheck %s --check-prefix=TRACE
// TRACE: track 1 0 process_name @timeline
// TRACE-NEXT: track 1 1 thread_name compute
// TRACE-NEXT: track 1 2 thread_name @dp
// TRACE-NEXT: counter 1 live bytes 0 14336
// TRACE-NEXT: counter 1 live bytes 60 18432
// TRACE-NEXT: counter 1 live bytes 100 22528
// TRACE-NEXT: counter 1 live bytes 130 14336
// TRACE-NEXT: counter 1 live bytes 150 18432
// TRACE-NEXT: counter 1 live bytes 170 10240
// TRACE-NEXT: track 2 0 process_name @empty
// TRACE-NEXT: track 2 1 thread_name compute
// TRACE-NEXT: counter 2 live bytes 0 16
// TRACE-NEXT: track 3 0 process_name @two_groups
// TRACE-NEXT: track 3 1 thread_name compute
// TRACE-NEXT: track 3 2 thread_name @dp
// TRACE-NEXT: track 3 3 thread_name @tp
// TRACE-COUNT-4: counter 3 live bytes
// TRACE-NEXT: slice 1 1 0 60 aten.mm
// TRACE-NEXT: slice 1 1 60 100 wait for all_gather_0
// TRACE-NEXT: slice 1 1 100 130 aten.add
// TRACE-NEXT: slice 1 1 130 150 wait for gather_b
// TRACE-NEXT: slice 1 1 150 170 aten.add
// TRACE-NEXT: slice 1 2 0 100 all_gather_0
// TRACE-NEXT: slice 1 2 100 150 gather_b
// TRACE-NEXT: slice 3 1 0 10 first
// TRACE-NEXT: slice 3 1 10 32 second
// TRACE-NEXT: slice 3 1 32 37 wait for barrier_2
// TRACE-NEXT: slice 3 2 10 30 all_gather_0
// TRACE-NEXT: slice 3 3 10 25 reduce_scatter_1
// TRACE-NEXT: slice 3 3 32 37 barrier_2
// TRACE-NEXT: flow 0 100
// TRACE-NEXT: flow 100 150
// TRACE-NEXT: flow 32 37
// TRACE-NOT: {{.}}

!t = tensor<1024xf32>
commsched.group @dp size(4)
commsched.group @tp size(2)

// The example of the documentation, under another name for one operation.
//      CHECK:{"function":"timeline","num_ops":7,"num_collectives":2,"comm_bytes":8192,"step_time_ns":170,"compute_time_ns":110,"comm_time_ns":150,"exposed_comm_ns":60,"lower_bound_ns":150,"tight_lower_bound_ns":170,"merging_lower_bound_ns":110,"peak_memory_bytes":22528,"collectives":[{"name":"all_gather_0","kind":"all_gather","group":"dp","bytes":4096,"start_ns":0,"end_ns":100,"wait_ns":60,"exposed_ns":40,"limited_by":"nothing left to hide it: all computation has to precede it, needs it, or runs beside it","remedy":"none by scheduling; reduce bytes (wider sharding, lower precision) or add independent computation; it cannot be split: aten.add has no rule for splitting"},{"name":"gather_b","kind":"all_gather","group":"dp","bytes":4096,"start_ns":100,"end_ns":150,"wait_ns":130,"exposed_ns":20,"limited_by":"stream busy with all_gather_0, which ends 40 ns after it is issued","remedy":"a shorter or an earlier all_gather_0","exact":{"by_ns":40}}],"peak_position":4,"peak_values":[{"name":"%arg2","bytes":4096,"rule":"argument"},{"name":"all_gather_0","bytes":4096,"producer":0,"rule":"collective"},{"name":"aten.mm","bytes":4096,"producer":1,"rule":"result"},{"name":"gather_b","bytes":4096,"producer":2,"rule":"collective"},{"name":"aten.add","bytes":4096,"producer":4,"rule":"result"},{"name":"%arg0","bytes":1024,"rule":"argument"},{"name":"%arg1","bytes":1024,"rule":"argument"}],"target":"h100","costs":{"source":"pinned","ops":5,"measured_ops":0,"pinned_ops":5,"assumed_ops":0,"measured_percent":0},"unsized_values":0,"evidence":"simulated: costs pinned in the program (commsched.runtime_ns)"}
func.func @timeline(%a: tensor<256xf32>, %b: tensor<256xf32>, %x: !t) -> !t {
  %gather_a = commsched.all_gather %a on @dp dim(0) {commsched.runtime_ns = 100}
      : tensor<256xf32> -> !commsched.future<!t>
  %y = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 60} : (!t) -> !t
  %gather_b = commsched.all_gather %b on @dp dim(0)
      {commsched.name = "gather_b", commsched.runtime_ns = 50}
      : tensor<256xf32> -> !commsched.future<!t>
  // The time of a collective belongs to its start: a wait's is not looked at.
  %full_a = commsched.wait %gather_a {commsched.runtime_ns = 1000} : !commsched.future<!t>
  %z = commsched.compute "aten.add"(%y, %full_a) {commsched.runtime_ns = 30} : (!t, !t) -> !t
  %full_b = commsched.wait %gather_b : !commsched.future<!t>
  %r = commsched.compute "aten.add"(%z, %full_b) {commsched.runtime_ns = 20} : (!t, !t) -> !t
  return %r : !t
}

func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// CHECK-NEXT:{"function":"empty","num_ops":0,"num_collectives":0,"comm_bytes":0,"step_time_ns":0,"compute_time_ns":0,"comm_time_ns":0,"exposed_comm_ns":0,"lower_bound_ns":0,"tight_lower_bound_ns":0,"merging_lower_bound_ns":0,"peak_memory_bytes":16,"collectives":[],"peak_position":-1,"peak_values":[{"name":"%arg0","bytes":16,"rule":"argument"}],"target":"h100","costs":{"source":"model","ops":0,"measured_ops":0,"pinned_ops":0,"assumed_ops":0,"measured_percent":0},"unsized_values":0,"evidence":"simulated: target h100; costs: model"}
func.func @empty(%x: tensor<4xf32>) {
  return
}

// Two groups are two streams: both start at 10 and run side by side until 30
// and 25; the barrier on @tp begins at 32 and holds the compute stream too. The
// bound is the computation, 10 + 22. comm_bytes counts the larger of what is
// sent and delivered: 64 + 32. The peak is at "second", operation 3: 16 + 32 + 64
// + 16 + 40.
// CHECK-NEXT:{"function":"two_groups","num_ops":7,"num_collectives":3,"comm_bytes":96,"step_time_ns":37,"compute_time_ns":32,"comm_time_ns":40,"exposed_comm_ns":5,"lower_bound_ns":32,"tight_lower_bound_ns":37,"merging_lower_bound_ns":37,"peak_memory_bytes":168,"collectives":[{"name":"all_gather_0","kind":"all_gather","group":"dp","bytes":64,"start_ns":10,"end_ns":30,"wait_ns":32,"exposed_ns":0},{"name":"reduce_scatter_1","kind":"reduce_scatter","group":"tp","bytes":32,"start_ns":10,"end_ns":25,"wait_ns":32,"exposed_ns":0},{"name":"barrier_2","kind":"barrier","group":"tp","bytes":0,"start_ns":32,"end_ns":37,"wait_ns":32,"exposed_ns":5,"limited_by":"it is blocking: computation stands still for it","remedy":"a start and a wait of its own"}],"peak_position":3,"peak_values":[{"name":"all_gather_0","bytes":64,"producer":1,"rule":"collective"},{"name":"second","bytes":40,"producer":3,"rule":"result"},{"name":"first","bytes":32,"producer":0,"rule":"result"},{"name":"%arg0","bytes":16,"rule":"argument"},{"name":"reduce_scatter_1","bytes":16,"producer":2,"rule":"collective"}],"target":"h100","costs":{"source":"pinned","ops":5,"measured_ops":0,"pinned_ops":5,"assumed_ops":0,"measured_percent":0},"unsized_values":0,"evidence":"simulated: costs pinned in the program (commsched.runtime_ns)"}
func.func @two_groups(%x: tensor<4xf32>) -> (tensor<16xf32>, tensor<4xf32>) {
  %y = commsched.compute "first"(%x) {commsched.runtime_ns = 10} : (tensor<4xf32>) -> tensor<8xf32>
  %f = commsched.all_gather %x on @dp dim(0) {commsched.runtime_ns = 20}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %g = commsched.reduce_scatter %y on @tp reduction(sum) dim(0)
      {commsched.runtime_ns = 15}
      : tensor<8xf32> -> !commsched.future<tensor<4xf32>>
  %z = commsched.compute "second"(%y) {commsched.runtime_ns = 22}
      : (tensor<8xf32>) -> tensor<10xf32>
  %v = commsched.wait %f : !commsched.future<tensor<16xf32>>
  %w = commsched.wait %g : !commsched.future<tensor<4xf32>>
  commsched.barrier on @tp {commsched.runtime_ns = 5}
  return %v, %w : tensor<16xf32>, tensor<4xf32>
}
