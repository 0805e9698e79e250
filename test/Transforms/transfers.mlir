// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --match-full-lines
// RUN: commsched-opt %s --commsched-report=format=table -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=TABLE
// RUN: commsched-opt %s --commsched-report=format=trace -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=TRACE
// RUN: commsched-opt %s --commsched-set-costs="exclusive-groups link-sharing" \
// RUN:   --commsched-report="format=json" -o /dev/null \
// RUN:   --verify-diagnostics | FileCheck %s --match-full-lines
// RUN: commsched-opt %s --commsched-estimate-runtime | FileCheck %s --check-prefix=COST
// RUN: commsched-opt %s --commsched-set-costs=target=gh200 --commsched-estimate-runtime \
// RUN:   | FileCheck %s --check-prefix=C2C
// RUN: commsched-opt %s --commsched-order-collectives | FileCheck %s --check-prefix=ORDER

// Transfers to and from the host in reports, costs and fixed orders.

!t = tensor<55000000xi8, #commsched.host>
commsched.group @dp size(2)

// The host holds 20 bytes to the end of the reload. The device holds none of
// them, but 8 of the argument, 8 of "b", 8 that are reduced, and 20 reloaded.
// CHECK: {"function":"step","num_ops":9,"num_collectives":1,"comm_bytes":8,"step_time_ns":130,"compute_time_ns":70,"comm_time_ns":150,"exposed_comm_ns":60,"lower_bound_ns":{{[0-9]+}},"tight_lower_bound_ns":{{[0-9]+}},"merging_lower_bound_ns":130,"peak_memory_bytes":44,"collectives":[{"name":"out","kind":"offload","group":"d2h","bytes":20,"start_ns":10,"end_ns":70,"wait_ns":60,"exposed_ns":10,"limited_by":{{.*}}},{"name":"all_reduce_1","kind":"all_reduce","group":"dp","bytes":8,"start_ns":70,"end_ns":110,"wait_ns":70,"exposed_ns":40,{{.*}}},{"name":"in","kind":"reload","group":"h2d","bytes":20,"start_ns":70,"end_ns":120,"wait_ns":110,"exposed_ns":10,{{.*}}}],"peak_position":5,{{.*}},"num_transfers":2,"transfer_bytes":40,"host_peak_bytes":20,"target":{{.*}}}

// TABLE: function @step
// TABLE: collectives  1 0 hidden
// TABLE: transfers  2 0 hidden
// TABLE-NEXT: bytes transferred  40 B to and from the host
// TABLE: peak host memory  20 B
// TABLE: out  offload  d2h

// TRACE-DAG: {"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":"d2h"}}
// TRACE-DAG: {"name":"thread_name","ph":"M","pid":1,"tid":3,"args":{"name":"@dp"}}
// TRACE-DAG: {"name":"out","cat":"offload","ph":"X","pid":1,"tid":2,"ts":0.010,"dur":0.060,

// ORDER-LABEL: func.func @step(
// ORDER: commsched.offload %{{[0-9a-z]+}} {commsched.name = "out", commsched.runtime_ns
// ORDER: commsched.all_reduce {{.*}} {commsched.order = 0 : i64
// ORDER: commsched.reload %{{[0-9a-z#]+}} {commsched.name = "in", commsched.runtime_ns
func.func @step(%x: tensor<8xi8>) -> (tensor<8xi8>, tensor<1xi8>) {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 10 : i64} : (tensor<8xi8>) -> tensor<20xi8>
  %f = commsched.offload %a {commsched.name = "out", commsched.runtime_ns = 60 : i64}
      : tensor<20xi8> -> !commsched.future<tensor<20xi8, #commsched.host>>
  %b = commsched.compute "b"(%x) {commsched.runtime_ns = 50 : i64} : (tensor<8xi8>) -> tensor<8xi8>
  %h = commsched.wait %f : !commsched.future<tensor<20xi8, #commsched.host>>
  %s = commsched.all_reduce %b on @dp reduction(sum) {commsched.runtime_ns = 40 : i64}
      : tensor<8xi8> -> !commsched.future<tensor<8xi8>>
  %r = commsched.reload %h {commsched.name = "in", commsched.runtime_ns = 50 : i64}
      : tensor<20xi8, #commsched.host> -> !commsched.future<tensor<20xi8>>
  %t = commsched.wait %s : !commsched.future<tensor<8xi8>>
  %a2 = commsched.wait %r : !commsched.future<tensor<20xi8>>
  %y = commsched.compute "y"(%a2) {commsched.runtime_ns = 10 : i64}
      : (tensor<20xi8>) -> tensor<1xi8>
  return %t, %y : tensor<8xi8>, tensor<1xi8>
}

// Two tensors of 55 MB: twice the latency and 2 ms at 55 GB/s, 244 us at 450.
// CHECK: {"function":"costs",{{.*}}"peak_memory_bytes":110000000,{{.*}}"num_transfers":1,"transfer_bytes":110000000,"host_peak_bytes":110000000,"target":{{.*}}}
// COST: commsched.offload {{.*}} {commsched.runtime_ns = 2020000 : i64}
// C2C: commsched.offload {{.*}} {commsched.runtime_ns = 264444 : i64}
func.func @costs(%x: tensor<55000000xi8>, %y: tensor<55000000xi8>) -> (!t, !t) {
  %f = commsched.offload %x, %y : tensor<55000000xi8>, tensor<55000000xi8>
      -> !commsched.future<!t, !t>
  %h:2 = commsched.wait %f : !commsched.future<!t, !t>
  return %h#0, %h#1 : !t, !t
}

// A half that only keeps a host tensor reports its bytes.
// CHECK: {"function":"keeps",{{.*}}"peak_memory_bytes":0,{{.*}}"num_transfers":0,"transfer_bytes":0,"host_peak_bytes":7,"target":{{.*}}}
func.func @keeps(%x: tensor<7xi8, #commsched.host>) -> tensor<7xi8, #commsched.host> {
  return %x : tensor<7xi8, #commsched.host>
}

// CHECK: {"function":"none",{{.*}}"peak_values":[],"target":{{.*}}}
func.func @none() {
  return
}
