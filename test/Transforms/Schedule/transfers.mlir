// RUN: commsched-opt %s --commsched-schedule=memory-budget=0%% -o %t %remarks 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK --implicit-check-not=CollectiveNotSplit
// RUN: %orders < %t | FileCheck %s
// RUN: commsched-opt %s --commsched-pipeline | %orders | FileCheck %s
// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// RUN: commsched-opt %t --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=AFTER
// RUN: commsched-opt %s --commsched-frontier -o /dev/null | FileCheck %s --check-prefix=FRONTIER

// Both transfers hide. The wait for the offload comes before "wide", since "a"
// and "wide" do not fit the memory together; the reload, which allocates as
// much, comes behind the last use of "wide".

// REMARK-DAG: BlockScheduled {{.*}} Function=step {{.*}}the step takes 320 ns instead of 520, and 1002 bytes instead of 1002, for a budget of 1002

// BEFORE: "function":"step",{{.*}}"num_collectives":0,"comm_bytes":0,"step_time_ns":520,{{.*}}"exposed_comm_ns":200,{{.*}}"num_transfers":2,"transfer_bytes":1800,"host_peak_bytes":900,
// AFTER: "function":"step",{{.*}}"num_collectives":0,"comm_bytes":0,"step_time_ns":320,{{.*}}"exposed_comm_ns":0,{{.*}}"num_transfers":2,"transfer_bytes":1800,"host_peak_bytes":900,

// FRONTIER: function,{{.*}},exposed_comm_ns,num_collectives
// FRONTIER: step,1002,1002,320,320,0,0
// FRONTIER: exposed,{{.*}},100,0

// CHECK-LABEL: func.func @step(
// CHECK-NEXT: // order: a offload beside_offload wait wide narrow reload beside_reload wait z{{$}}
func.func @step(%x: tensor<100xi8>) -> tensor<1xi8> {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<100xi8>) -> tensor<900xi8>
  %f = commsched.offload %a {commsched.runtime_ns = 100 : i64}
      : tensor<900xi8> -> !commsched.future<tensor<900xi8, #commsched.host>>
  %h = commsched.wait %f : !commsched.future<tensor<900xi8, #commsched.host>>
  %b = commsched.compute "beside_offload"(%x) {commsched.runtime_ns = 100 : i64}
      : (tensor<100xi8>) -> tensor<1xi8>
  %w = commsched.compute "wide"(%b) {commsched.runtime_ns = 50 : i64}
      : (tensor<1xi8>) -> tensor<900xi8>
  %n = commsched.compute "narrow"(%w) {commsched.runtime_ns = 50 : i64}
      : (tensor<900xi8>) -> tensor<1xi8>
  %c = commsched.compute "beside_reload"(%n) {commsched.runtime_ns = 100 : i64}
      : (tensor<1xi8>) -> tensor<1xi8>
  %r = commsched.reload %h {commsched.runtime_ns = 100 : i64}
      : tensor<900xi8, #commsched.host> -> !commsched.future<tensor<900xi8>>
  %again = commsched.wait %r : !commsched.future<tensor<900xi8>>
  %z = commsched.compute "z"(%again, %c) {commsched.runtime_ns = 10 : i64}
      : (tensor<900xi8>, tensor<1xi8>) -> tensor<1xi8>
  return %z : tensor<1xi8>
}

// Transfers of one direction may change places, since no other rank takes part:
// the one that is needed first goes first.
// CHECK-LABEL: func.func @changes_places(
// CHECK: commsched.reload {{.*}} "first"
// CHECK: commsched.reload {{.*}} "later"
// REMARK-DAG: BlockScheduled {{.*}} Function=changes_places {{.*}}the step takes 300 ns instead of 400
func.func @changes_places(%a: tensor<9xi8, #commsched.host>,
                          %b: tensor<9xi8, #commsched.host>) -> tensor<9xi8> {
  %ra = commsched.reload %a {commsched.name = "later", commsched.runtime_ns = 100 : i64}
      : tensor<9xi8, #commsched.host> -> !commsched.future<tensor<9xi8>>
  %rb = commsched.reload %b {commsched.name = "first", commsched.runtime_ns = 100 : i64}
      : tensor<9xi8, #commsched.host> -> !commsched.future<tensor<9xi8>>
  %vb = commsched.wait %rb : !commsched.future<tensor<9xi8>>
  %c = commsched.compute "c"(%vb) {commsched.runtime_ns = 100 : i64}
      : (tensor<9xi8>) -> tensor<9xi8>
  %va = commsched.wait %ra : !commsched.future<tensor<9xi8>>
  %d = commsched.compute "d"(%va, %c) {commsched.runtime_ns = 100 : i64}
      : (tensor<9xi8>, tensor<9xi8>) -> tensor<9xi8>
  return %d : tensor<9xi8>
}

// REMARK-DAG: TransferExposed {{.*}} Function=exposed {{.*}}offload is exposed for 100 ns: nothing left to hide it: all computation has to precede it, needs it, or runs beside it; to change that: none by scheduling; transfer less, or keep the value on the device
func.func @exposed(%x: tensor<9xi8>) -> tensor<9xi8, #commsched.host> {
  %f = commsched.offload %x {commsched.runtime_ns = 100 : i64}
      : tensor<9xi8> -> !commsched.future<tensor<9xi8, #commsched.host>>
  %h = commsched.wait %f : !commsched.future<tensor<9xi8, #commsched.host>>
  return %h : tensor<9xi8, #commsched.host>
}
