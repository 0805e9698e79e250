// Two implementations of one group are in flight at once, beside the plain one,
// and deliver what the plain group alone does; see implementations-nccl.test for
// NCCL.
//
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: sed 's/commsched.implementation = [^,}]*, //' chosen.mlir > plain.mlir
// RUN: not grep -q 'commsched.implementation =' plain.mlir
// RUN: commsched-run chosen.mlir --ranks=4 --compare=plain.mlir -o /dev/null | FileCheck %s
// CHECK: {{^}}equal: all 704 elements on 4 ranks{{$}}
//
// Each has a stream of its own: with modelled times, the gathers of 50, 60 and
// 70 ms begin together. On one stream they would take 180 ms.
// RUN: commsched-run chosen.mlir --ranks=4 --modelled-times \
// RUN:   --timeline=trace.json --format=json | FileCheck %s --check-prefix=TIMES
// RUN: commsched-run plain.mlir --ranks=4 --modelled-times --format=json \
// RUN:   | FileCheck %s --check-prefix=PLAIN
// TIMES: "name":"few","kind":"all_gather","group":"dp","implementation":"nccl-4",
// TIMES-SAME: "measured":{"start_ns":0,"duration_ns":50000000,
// TIMES-SAME: "name":"copied","kind":"all_gather","group":"dp","implementation":"copy-engine",
// TIMES-SAME: "measured":{"start_ns":0,"duration_ns":60000000,
// TIMES-SAME: "name":"usual","kind":"all_gather","group":"dp","location":
// TIMES-SAME: "measured":{"start_ns":0,"duration_ns":70000000,
// TIMES-NOT: implementation
// PLAIN-NOT: implementation
// PLAIN: "name":"usual",
// PLAIN-SAME: "measured":{"start_ns":110000000,"duration_ns":70000000,
//
// Those with one stream are carried out one after the other.
// RUN: sed 's/channels = 4 : i64/&, stream = "nccl"/' chosen.mlir > shared.mlir
// RUN: commsched-run shared.mlir --ranks=4 --modelled-times --format=json \
// RUN:   | FileCheck %s --check-prefix=SHARED
// SHARED: "name":"few",{{.*}}"measured":{"start_ns":0,"duration_ns":50000000,
// SHARED-SAME: "name":"copied",{{.*}}"measured":{"start_ns":0,"duration_ns":60000000,
// SHARED-SAME: "name":"usual",{{.*}}"measured":{"start_ns":50000000,"duration_ns":70000000,
//
// They are tracks of the timeline, as in the prediction.
// RUN: FileCheck %s --check-prefix=TRACE --input-file=trace.json
// TRACE-DAG: "pid":1,"tid":2,"args":{"name":"@dp (nccl-4)"}
// TRACE-DAG: "pid":1,"tid":3,"args":{"name":"@dp (copy-engine)"}
// TRACE-DAG: "pid":1,"tid":4,"args":{"name":"@dp"}
// TRACE-DAG: "pid":2,"tid":3,"args":{"name":"@dp (copy-engine)"}
// TRACE-NOT: "tid":5

//--- chosen.mlir

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      "nccl-4" = {method = "nccl", channels = 4 : i64},
      "copy-engine" = {latency_us = 1.0, bandwidth_gb_s = 1.0}}>>} {
  commsched.group @dp size(4)

  func.func @main(%a: tensor<16xf32>, %b: tensor<12xf32>, %c: tensor<16xf32>)
      -> (tensor<64xf32>, tensor<48xf32>, tensor<64xf32>) {
    %0 = commsched.all_gather %a on @dp dim(0)
        {commsched.implementation = "nccl-4", commsched.name = "few",
         commsched.runtime_ns = 50000000 : i64}
        : tensor<16xf32> -> !commsched.future<tensor<64xf32>>
    %1 = commsched.all_gather %b on @dp dim(0)
        {commsched.implementation = "copy-engine", commsched.name = "copied",
         commsched.runtime_ns = 60000000 : i64}
        : tensor<12xf32> -> !commsched.future<tensor<48xf32>>
    %2 = commsched.all_gather %c on @dp dim(0)
        {commsched.name = "usual", commsched.runtime_ns = 70000000 : i64}
        : tensor<16xf32> -> !commsched.future<tensor<64xf32>>
    %3 = commsched.wait %0 : !commsched.future<tensor<64xf32>>
    %4 = commsched.wait %1 : !commsched.future<tensor<48xf32>>
    %5 = commsched.wait %2 : !commsched.future<tensor<64xf32>>
    return %3, %4, %5 : tensor<64xf32>, tensor<48xf32>, tensor<64xf32>
  }
}
