// RUN: commsched-opt %s --commsched-report=format=trace -o /dev/null \
// RUN:   | %python -m json.tool > /dev/null
// RUN: commsched-opt %s --commsched-report=format=trace -o /dev/null \
// RUN:   | %python %S/Inputs/check_trace.py | FileCheck %s

// A process a function, a track a stream, a slice for everything that takes
// time and for every stall, a flow from a collective to the end of the stall
// that it causes, and a counter of live bytes. (track: process, thread, kind,
// name; slice: process, thread, begin, end, name; flow: begin, end; counter:
// process, name, time, bytes.)

commsched.group @dp size(4)
commsched.group @tp size(2)

// CHECK: track 1 0 process_name @timeline
// CHECK-NEXT: track 1 1 thread_name compute
// CHECK-NEXT: track 1 2 thread_name @dp
// CHECK-NEXT: track 1 3 thread_name @tp
// CHECK-NEXT: counter 1 live bytes 0 14336
// CHECK-NEXT: counter 1 live bytes 60 18432
// CHECK-NEXT: counter 1 live bytes 100 22528
// CHECK-NEXT: counter 1 live bytes 130 14336
// CHECK-NEXT: counter 1 live bytes 150 18432
// CHECK-NEXT: counter 1 live bytes 170 10240
// CHECK-NEXT: track 2 0 process_name @idle
// CHECK-NEXT: track 2 1 thread_name compute
// CHECK-NEXT: counter 2 live bytes 0 0
// CHECK-NEXT: slice 1 1 0 60 matmul
// CHECK-NEXT: slice 1 1 60 100 wait for gather_a
// CHECK-NEXT: slice 1 1 100 130 aten.add
// CHECK-NEXT: slice 1 1 130 150 wait for gather_b
// CHECK-NEXT: slice 1 1 150 170 add_b
// CHECK-NEXT: slice 1 1 170 177 wait for barrier_2
// CHECK-NEXT: slice 1 2 0 100 gather_a
// CHECK-NEXT: slice 1 2 100 150 gather_b
// CHECK-NEXT: slice 1 3 170 177 barrier_2
// CHECK-NEXT: flow 0 100
// CHECK-NEXT: flow 100 150
// CHECK-NEXT: flow 170 177
// CHECK-NOT: {{.}}
func.func @timeline(%a: tensor<256xf32>, %b: tensor<256xf32>,
                    %x: tensor<1024xf32>) -> tensor<1024xf32> {
  %gather_a = commsched.all_gather %a on @dp dim(0)
      {commsched.name = "gather_a", commsched.runtime_ns = 100 : i64}
      : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
  %y = commsched.compute "aten.mm"(%x)
      {commsched.name = "matmul", commsched.runtime_ns = 60 : i64}
      : (tensor<1024xf32>) -> tensor<1024xf32>
  %gather_b = commsched.all_gather %b on @dp dim(0)
      {commsched.name = "gather_b", commsched.runtime_ns = 50 : i64}
      : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
  %full_a = commsched.wait %gather_a : !commsched.future<tensor<1024xf32>>
  %z = commsched.compute "aten.add"(%y, %full_a)
      {commsched.runtime_ns = 30 : i64}
      : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %full_b = commsched.wait %gather_b : !commsched.future<tensor<1024xf32>>
  %r = commsched.compute "aten.add"(%z, %full_b)
      {commsched.name = "add_b", commsched.runtime_ns = 20 : i64}
      : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  commsched.barrier on @tp {commsched.runtime_ns = 7 : i64}
  return %r : tensor<1024xf32>
}

func.func @idle() {
  return
}
