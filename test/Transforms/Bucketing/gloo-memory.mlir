// RUN: %rows %s > %t.mlir
// DEFINE: %{schedule} = commsched-opt %t.mlir -o /dev/null --commsched-schedule=

// Gloo copies what it gathers and what it scatters, and the tensors that it
// reduces in one launch, until the wait.
// RUN: commsched-opt %t.mlir --commsched-report=format=json -o /dev/null | FileCheck %s --check-prefix=BEFORE

// Merged collectives have their copies at the same time: more than one byte less
// holds.
// RUN: %{schedule}"memory-budget=5120B mode=copy" \
// RUN:   --commsched-report=format=json | FileCheck %s --check-prefix=MERGED
// RUN: %{schedule}"memory-budget=5119B mode=copy" \
// RUN:   --commsched-report=format=json | FileCheck %s --check-prefix=ALONE
// RUN: %{schedule}"memory-budget=5120B mode=coalesced" \
// RUN:   --commsched-report=format=json | FileCheck %s --check-prefix=MERGED
// RUN: %{schedule}"memory-budget=5119B mode=coalesced" \
// RUN:   --commsched-report=format=json | FileCheck %s --check-prefix=ALONE

commsched.group @gloo size(4) {commsched.backend = "gloo"}
commsched.group @nccl size(4) {commsched.backend = "nccl"}

!s = tensor<64xf32>
!t = tensor<256xf32>

// BEFORE: "function":"gathers",{{.*}}"peak_memory_bytes":3840,
// BEFORE-SAME: {"name":"all_gather_1","bytes":1280,"producer":2,"rule":"collective"}
// MERGED: "function":"gathers",{{.*}}"num_collectives":1,{{.*}}"peak_memory_bytes":5120,
// ALONE: "function":"gathers",{{.*}}"num_collectives":2,
func.func @gathers(%a: !s, %b: !s) -> (!t, !t) {
  $run(%v0 = all_gather %a on @gloo dim(0) : !s -> !t)
  $run(%v1 = all_gather %b on @gloo dim(0) : !s -> !t)
  return %v0, %v1 : !t, !t
}

// BEFORE: "function":"scatter",{{.*}}"peak_memory_bytes":2304,
func.func @scatter(%a: !t) -> !s {
  $run(%v0 = reduce_scatter %a on @gloo reduction(sum) dim(0) : !t -> !s)
  return %v0 : !s
}

// BEFORE: "function":"reduced",{{.*}}"peak_memory_bytes":512,
func.func @reduced(%a: !s) -> !s {
  $run(%v0 = all_reduce %a on @gloo reduction(sum) : !s -> !s)
  return %v0 : !s
}

// BEFORE: "function":"reduced_at_once",{{.*}}"peak_memory_bytes":1536,
func.func @reduced_at_once(%a: !s, %b: !s) -> (!s, !s) {
  %f = commsched.all_reduce %a, %b on @gloo reduction(sum) : !s, !s -> !commsched.future<!s, !s>
  %v0:2 = commsched.wait %f : !commsched.future<!s, !s>
  return %v0#0, %v0#1 : !s, !s
}

// What other backends take is not known.
// BEFORE: "function":"other",{{.*}}"peak_memory_bytes":1280,
func.func @other(%a: !s) -> !t {
  $run(%v0 = all_gather %a on @nccl dim(0) : !s -> !t)
  return %v0 : !t
}
