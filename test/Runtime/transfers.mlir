// Values that go to the host and come back are the same, bit for bit, on ranks
// that are threads; see programs-mpi.test for processes.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: cat head offloaded > offloaded.mlir && cat head kept > kept.mlir
// RUN: commsched-run offloaded.mlir --ranks=4 --compare=kept.mlir -o /dev/null | FileCheck %s
// With modelled times, threads write the outputs while the program goes on.
// RUN: commsched-run offloaded.mlir --ranks=4 --modelled-times \
// RUN:   --compare=kept.mlir -o /dev/null | FileCheck %s
// CHECK: {{^}}equal: all 2560 elements on 4 ranks{{$}}
//
// RUN: %prints commsched-run host.mlir --ranks=2 --compare=host-twice.mlir -o /dev/null '{{^}}equal: all 256 elements on 2 ranks{{$}}'
//
// Memory of the host is measured, too.
// RUN: commsched-run offloaded.mlir --ranks=4 --modelled-times | FileCheck %s --check-prefix=TABLE
// TABLE: peak memory
// TABLE-NEXT: peak host memory 1.25 KiB 1.25 KiB +0.0 %
// TABLE: offload_0 offload d2h 2.001 us {{.*}} 2.000 ms {{.*}}
// TABLE: reload_3 reload h2d
// RUN: %prints commsched-run offloaded.mlir --ranks=4 --format=json '"host_peak_bytes":{"predicted":1280,"measured":1280}'
//
// The streams of transfers are tracks of the timeline.
// RUN: commsched-run offloaded.mlir --ranks=4 --modelled-times -o /dev/null --timeline=trace.json
// RUN: FileCheck %s --check-prefix=TRACE --input-file=trace.json
// TRACE-DAG: "name":"rank 3 measured"
// TRACE-DAG: "pid":1,"tid":2,"args":{"name":"d2h"}
// TRACE-DAG: "pid":1,"tid":4,"args":{"name":"h2d"}
// TRACE-DAG: "pid":5,"tid":2,"args":{"name":"d2h"}
// TRACE-DAG: "pid":5,"tid":4,"args":{"name":"h2d"}
// TRACE-NOT: "tid":5
// TRACE-DAG: "cat":"offload"
// TRACE-DAG: "cat":"reload"

//--- head

!t = tensor<16x8xf32>
!u = tensor<8x8xf32>
commsched.group @all size(4)

func.func @main(%x: !t, %w: !u {commsched.freeable}) -> (!t, tensor<64x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !t
  %init = linalg.fill ins(%zero : f32) outs(%empty : !t) -> !t
  %y = linalg.matmul ins(%x, %w : !t, !u) outs(%init : !t) -> !t

//--- offloaded
  // Two values in one transfer, one behind the other transfer.
  %out0 = commsched.offload %y {commsched.runtime_ns = 2000000 : i64}
      : !t -> !commsched.future<tensor<16x8xf32, #commsched.host>>
  %out1 = commsched.offload %x, %w
      : !t, !u
      -> !commsched.future<tensor<16x8xf32, #commsched.host>, tensor<8x8xf32, #commsched.host>>
  // What is in flight is not overwritten: these write to copies.
  %y2 = linalg.add ins(%y, %x : !t, !t) outs(%y : !t) -> !t
  %w2 = linalg.mul ins(%w, %w : !u, !u) outs(%w : !u) -> !u
  %f = commsched.all_gather %y2 on @all dim(0) : !t -> !commsched.future<tensor<64x8xf32>>
  %hy = commsched.wait %out0 : !commsched.future<tensor<16x8xf32, #commsched.host>>
  %hx, %hw = commsched.wait %out1
      : !commsched.future<tensor<16x8xf32, #commsched.host>, tensor<8x8xf32, #commsched.host>>
  %in0 = commsched.reload %hy {commsched.runtime_ns = 2000000 : i64}
      : tensor<16x8xf32, #commsched.host> -> !commsched.future<!t>
  %in1 = commsched.reload %hx, %hw : tensor<16x8xf32, #commsched.host>,
      tensor<8x8xf32, #commsched.host> -> !commsched.future<!t, !u>
  %all = commsched.wait %f : !commsched.future<tensor<64x8xf32>>
  %x3, %w3 = commsched.wait %in1 : !commsched.future<!t, !u>
  %y3 = commsched.wait %in0 : !commsched.future<!t>
  %z = linalg.matmul ins(%x3, %w3 : !t, !u) outs(%y3 : !t) -> !t
  %z2 = linalg.matmul ins(%x3, %w2 : !t, !u) outs(%z : !t) -> !t
  return %z2, %all : !t, tensor<64x8xf32>
}

//--- kept
  %y2 = linalg.add ins(%y, %x : !t, !t) outs(%empty : !t) -> !t
  %empty2 = tensor.empty() : !u
  %w2 = linalg.mul ins(%w, %w : !u, !u) outs(%empty2 : !u) -> !u
  %f = commsched.all_gather %y2 on @all dim(0) : !t -> !commsched.future<tensor<64x8xf32>>
  %all = commsched.wait %f : !commsched.future<tensor<64x8xf32>>
  %z = linalg.matmul ins(%x, %w : !t, !u) outs(%y : !t) -> !t
  %z2 = linalg.matmul ins(%x, %w2 : !t, !u) outs(%z : !t) -> !t
  return %z2, %all : !t, tensor<64x8xf32>
}

//--- host.mlir

!t = tensor<4x8xbf16, #commsched.host>

// Arguments and results in the memory of the host, as a backward function and
// a forward function have.
func.func @main(%h: !t) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, !t, !t) {
  %in = commsched.reload %h : !t -> !commsched.future<tensor<4x8xbf16>>
  %x = commsched.wait %in : !commsched.future<tensor<4x8xbf16>>
  %y = commsched.compute "add"(%x, %x) {commsched.runtime_ns = 1000000 : i64}
      : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %x, %y, %h, %h : tensor<4x8xbf16>, tensor<4x8xbf16>, !t, !t
}

//--- host-twice.mlir

!t = tensor<4x8xbf16, #commsched.host>

func.func @main(%h: !t) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, !t, !t) {
  %in = commsched.reload %h : !t -> !commsched.future<tensor<4x8xbf16>>
  %x = commsched.wait %in : !commsched.future<tensor<4x8xbf16>>
  %out = commsched.offload %x : tensor<4x8xbf16> -> !commsched.future<!t>
  %h2 = commsched.wait %out : !commsched.future<!t>
  %again = commsched.reload %h2 : !t -> !commsched.future<tensor<4x8xbf16>>
  %x2 = commsched.wait %again : !commsched.future<tensor<4x8xbf16>>
  %y = commsched.compute "add"(%x, %x2) {commsched.runtime_ns = 1000000 : i64}
      : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %x2, %y, %h2, %h : tensor<4x8xbf16>, tensor<4x8xbf16>, !t, !t
}
