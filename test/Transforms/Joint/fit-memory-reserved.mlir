// A budget of what the allocator reserves for both halves. With everything
// saved 136 MiB are live and 158 MiB are reserved; with %a computed again, 90
// MiB and 118 MiB: blocks of the backward do not fit those of the forward.

// RUN: %rows %s > %t.mlir
// DEFINE: %{fit} = commsched-opt %t.mlir -o /dev/null --remarks-filter=commsched 2>&1 --commsched-pipeline=
// DEFINE: %{report} = --commsched-report="format=json allocator=pytorch"

// RUN: %{fit}memory-budget=140MiB %{report} | FileCheck %s --check-prefix=LIVE
// LIVE: MemoryFitted
// LIVE-NOT: ReservedBytes
// LIVE: "function":"step",{{.*}}"step_time_ns":70,{{.*}}"peak_memory_bytes":142606366,{{.*}}"reserved_bytes":165675008,

// RUN: %{fit}"memory-budget=140MiB budget-on=reserved strict" %{report} | FileCheck %s --check-prefix=LESS
// RUN: %{fit}"memory-budget=126MiB reserved-bytes=8MiB budget-on=reserved strict" %{report} \
// RUN:   | FileCheck %s --check-prefix=LESS
// LESS: MemoryFitted
// LESS-SAME: Remark="the step takes 80 ns and 94371880 bytes of {{[0-9]+}}, for which the allocator reserves 123731968 bytes: {{.*}}ReservedBytes=123731968
// LESS: "function":"step",{{.*}}"step_time_ns":80,{{.*}}"peak_memory_bytes":94371880,{{.*}}"reserved_bytes":123731968,

// RUN: %prints %{fit}"memory-budget=158MiB budget-on=reserved strict" %{report} '"function":"step",{{.*}}"step_time_ns":70,{{.*}}"reserved_bytes":165675008,'

// Expandable segments grow by 20 MiB, to 122 MiB in all.
// RUN: %prints %{fit}"memory-budget=158MiB budget-on=reserved allocator=pytorch-expandable strict" %{report} 'for which the allocator reserves 127926272 bytes'

// What is over the budget.
// RUN: %{fit}"memory-budget=117MiB budget-on=reserved" %{report} | FileCheck %s --check-prefix=OVER
// OVER: remark: [Analysis] MemoryFitted
// OVER: remark: [Missed] MemoryExceeded
// OVER-SAME: AllowedBytes=122683392, LeastBytes=123731968, Remark="the allocator reserves at least 123731968 bytes, 1048576 more than the 122683392 bytes that are left of the device; the largest values at its peak are 'aten.mm' (67108864 bytes,
// RUN: not %{fit}"memory-budget=117MiB budget-on=reserved strict" %{report} \
// RUN:   | FileCheck %s --check-prefix=STRICT
// STRICT: error: cannot be fitted: the allocator reserves at least 123731968 bytes

// RUN: not %{fit}"memory-budget=1GiB budget-on=reserved allocator=none" \
// RUN:   %{report} | FileCheck %s --check-prefix=NONE
// NONE: error: option 'allocator' of pass 'commsched-schedule' is 'none', but option 'budget-on' is 'reserved'
func.func @step(%x: tensor<10xi8> $in, %dy: tensor<10xi8> $tangent) -> (tensor<10xi8>, tensor<10xi8>) $joint {
  $take(%a = aten.mm %x in 10 ns : (tensor<10xi8>) -> tensor<67108864xi8>)
  $take(%b = aten.mm %a in 10 ns : (tensor<67108864xi8>) -> tensor<27262976xi8>)
  $take(%c = aten.mm %b in 10 ns : (tensor<27262976xi8>) -> tensor<20971520xi8>)
  $take(%y = y %c in 10 ns : (tensor<20971520xi8>) -> tensor<10xi8>)
  $take(%dc = back %dy, %c in 10 ns : (tensor<10xi8>, tensor<20971520xi8>) -> tensor<20971520xi8>)
  $take(%db = back %dc, %b in 10 ns : (tensor<20971520xi8>, tensor<27262976xi8>) -> tensor<27262976xi8>)
  $take(%da = back %db, %a in 10 ns : (tensor<27262976xi8>, tensor<67108864xi8>) -> tensor<10xi8>)
  return %y, %da : tensor<10xi8>, tensor<10xi8>
}
