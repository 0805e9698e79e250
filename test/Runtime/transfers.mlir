// Values that go to the host and come back are the same, bit for bit, on ranks
// that are threads; see transfers-mpi.test for processes.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: commsched-run offloaded.mlir --ranks=4 --compare=kept.mlir -o /dev/null \
// RUN:   | FileCheck %s
// With modelled times, threads write the outputs while the program goes on.
// RUN: commsched-run offloaded.mlir --ranks=4 --modelled-times \
// RUN:   --compare=kept.mlir -o /dev/null | FileCheck %s
// CHECK: {{^}}equal: all 2560 elements on 4 ranks{{$}}
//
// RUN: commsched-run host.mlir --ranks=2 --compare=host-twice.mlir \
// RUN:   -o /dev/null | FileCheck %s --check-prefix=HOST
// HOST: {{^}}equal: all 256 elements on 2 ranks{{$}}
//
// Memory of the host is measured, too.
// RUN: commsched-run offloaded.mlir --ranks=4 --modelled-times \
// RUN:   | FileCheck %s --check-prefix=TABLE
// TABLE: peak memory
// TABLE-NEXT: peak host memory 1.25 KiB 1.25 KiB +0.0 %
// TABLE: offload_0 offload d2h 2.001 us {{.*}} 2.000 ms {{.*}}
// TABLE: reload_3 reload h2d
// RUN: commsched-run offloaded.mlir --ranks=4 --format=json \
// RUN:   | FileCheck %s --check-prefix=JSON
// JSON: "host_peak_bytes":{"predicted":1280,"measured":1280}
//
// The streams of transfers are tracks of the timeline.
// RUN: commsched-run offloaded.mlir --ranks=4 --modelled-times -o /dev/null \
// RUN:   --timeline=trace.json
// RUN: FileCheck %s --check-prefix=TRACE --input-file=trace.json
// TRACE-DAG: "name":"rank 3 measured"
// TRACE-DAG: "pid":1,"tid":2,"args":{"name":"d2h"}
// TRACE-DAG: "pid":1,"tid":4,"args":{"name":"h2d"}
// TRACE-DAG: "pid":5,"tid":2,"args":{"name":"d2h"}
// TRACE-DAG: "pid":5,"tid":4,"args":{"name":"h2d"}
// TRACE-NOT: "tid":5
// TRACE-DAG: "cat":"offload"
// TRACE-DAG: "cat":"reload"

//--- offloaded.mlir

commsched.group @all size(4)

func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x8xf32> {commsched.freeable})
    -> (tensor<16x8xf32>, tensor<64x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x8xf32>)
      -> tensor<16x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x8xf32>)
      outs(%init : tensor<16x8xf32>) -> tensor<16x8xf32>
  // Two values in one transfer, one behind the other transfer.
  %out0 = commsched.offload %y {commsched.runtime_ns = 2000000 : i64}
      : tensor<16x8xf32> -> !commsched.future<tensor<16x8xf32, #commsched.host>>
  %out1 = commsched.offload %x, %w
      : tensor<16x8xf32>, tensor<8x8xf32>
      -> !commsched.future<tensor<16x8xf32, #commsched.host>, tensor<8x8xf32, #commsched.host>>
  // What is in flight is not overwritten: these write to copies.
  %y2 = linalg.add ins(%y, %x : tensor<16x8xf32>, tensor<16x8xf32>)
      outs(%y : tensor<16x8xf32>) -> tensor<16x8xf32>
  %w2 = linalg.mul ins(%w, %w : tensor<8x8xf32>, tensor<8x8xf32>)
      outs(%w : tensor<8x8xf32>) -> tensor<8x8xf32>
  %f = commsched.all_gather %y2 on @all dim(0)
      : tensor<16x8xf32> -> !commsched.future<tensor<64x8xf32>>
  %hy = commsched.wait %out0 : !commsched.future<tensor<16x8xf32, #commsched.host>>
  %hx, %hw = commsched.wait %out1
      : !commsched.future<tensor<16x8xf32, #commsched.host>, tensor<8x8xf32, #commsched.host>>
  %in0 = commsched.reload %hy {commsched.runtime_ns = 2000000 : i64}
      : tensor<16x8xf32, #commsched.host> -> !commsched.future<tensor<16x8xf32>>
  %in1 = commsched.reload %hx, %hw
      : tensor<16x8xf32, #commsched.host>, tensor<8x8xf32, #commsched.host>
      -> !commsched.future<tensor<16x8xf32>, tensor<8x8xf32>>
  %all = commsched.wait %f : !commsched.future<tensor<64x8xf32>>
  %x3, %w3 = commsched.wait %in1 : !commsched.future<tensor<16x8xf32>, tensor<8x8xf32>>
  %y3 = commsched.wait %in0 : !commsched.future<tensor<16x8xf32>>
  %z = linalg.matmul ins(%x3, %w3 : tensor<16x8xf32>, tensor<8x8xf32>)
      outs(%y3 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %z2 = linalg.matmul ins(%x3, %w2 : tensor<16x8xf32>, tensor<8x8xf32>)
      outs(%z : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %z2, %all : tensor<16x8xf32>, tensor<64x8xf32>
}

//--- kept.mlir

commsched.group @all size(4)

func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x8xf32> {commsched.freeable})
    -> (tensor<16x8xf32>, tensor<64x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x8xf32>)
      -> tensor<16x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x8xf32>)
      outs(%init : tensor<16x8xf32>) -> tensor<16x8xf32>
  %y2 = linalg.add ins(%y, %x : tensor<16x8xf32>, tensor<16x8xf32>)
      outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
  %empty2 = tensor.empty() : tensor<8x8xf32>
  %w2 = linalg.mul ins(%w, %w : tensor<8x8xf32>, tensor<8x8xf32>)
      outs(%empty2 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %f = commsched.all_gather %y2 on @all dim(0)
      : tensor<16x8xf32> -> !commsched.future<tensor<64x8xf32>>
  %all = commsched.wait %f : !commsched.future<tensor<64x8xf32>>
  %z = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x8xf32>)
      outs(%y : tensor<16x8xf32>) -> tensor<16x8xf32>
  %z2 = linalg.matmul ins(%x, %w2 : tensor<16x8xf32>, tensor<8x8xf32>)
      outs(%z : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %z2, %all : tensor<16x8xf32>, tensor<64x8xf32>
}

//--- host.mlir

// Arguments and results in the memory of the host, as a backward function and
// a forward function have.
func.func @main(%h: tensor<4x8xbf16, #commsched.host>)
    -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16, #commsched.host>,
        tensor<4x8xbf16, #commsched.host>) {
  %in = commsched.reload %h
      : tensor<4x8xbf16, #commsched.host> -> !commsched.future<tensor<4x8xbf16>>
  %x = commsched.wait %in : !commsched.future<tensor<4x8xbf16>>
  %y = commsched.compute "add"(%x, %x) {commsched.runtime_ns = 1000000 : i64}
      : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %x, %y, %h, %h : tensor<4x8xbf16>, tensor<4x8xbf16>,
      tensor<4x8xbf16, #commsched.host>, tensor<4x8xbf16, #commsched.host>
}

//--- host-twice.mlir

func.func @main(%h: tensor<4x8xbf16, #commsched.host>)
    -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16, #commsched.host>,
        tensor<4x8xbf16, #commsched.host>) {
  %in = commsched.reload %h
      : tensor<4x8xbf16, #commsched.host> -> !commsched.future<tensor<4x8xbf16>>
  %x = commsched.wait %in : !commsched.future<tensor<4x8xbf16>>
  %out = commsched.offload %x
      : tensor<4x8xbf16> -> !commsched.future<tensor<4x8xbf16, #commsched.host>>
  %h2 = commsched.wait %out : !commsched.future<tensor<4x8xbf16, #commsched.host>>
  %again = commsched.reload %h2
      : tensor<4x8xbf16, #commsched.host> -> !commsched.future<tensor<4x8xbf16>>
  %x2 = commsched.wait %again : !commsched.future<tensor<4x8xbf16>>
  %y = commsched.compute "add"(%x, %x2) {commsched.runtime_ns = 1000000 : i64}
      : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %x2, %y, %h2, %h : tensor<4x8xbf16>, tensor<4x8xbf16>,
      tensor<4x8xbf16, #commsched.host>, tensor<4x8xbf16, #commsched.host>
}
