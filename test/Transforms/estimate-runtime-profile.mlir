// RUN: %rows %s > %t.rows && split-file %t.rows %t
// RUN: commsched-opt %t/program.mlir --commsched-estimate-runtime=profile=%t/profile.json | FileCheck %s
// RUN: commsched-opt %t/program.mlir --commsched-estimate-runtime=profile=%t/profile.json --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %fails commsched-opt %t/program.mlir --commsched-estimate-runtime=profile=%t/missing.json "error: option 'profile' of pass 'commsched-estimate-runtime' cannot be used: {{.*}}missing.json"
// RUN: not commsched-opt %t/program.mlir --commsched-estimate-runtime=profile=%t/negative.json 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// NEGATIVE: error: option 'profile' of pass 'commsched-estimate-runtime' cannot be used: {{.*}}negative.json{{.*}}row 0{{.*}}time_ns
// NEGATIVE-NOT: commsched.group

//--- program.mlir
commsched.group @dp size(4)

// The measured time of 4 x 256 bytes gathered; the one between 1 KiB and 4 KiB
// is the geometric mean of its neighbours; a pin comes first; and what is not
// measured comes from the model.
// CHECK-LABEL: @collectives
// CHECK: commsched.all_gather {{.*}}commsched.runtime_ns = 1000 : i64
// CHECK: commsched.all_gather {{.*}}commsched.runtime_ns = 2000 : i64
// CHECK: commsched.all_gather {{.*}}commsched.runtime_ns = 3 : i64
// CHECK: commsched.all_reduce {{.*}}commsched.runtime_ns = {{[1-9][0-9]+}} : i64
// REMARK: remark: [Analysis] EstimatedCollective | Category:commsched | Function=collectives
// REMARK-SAME: Bytes=1024, Nodes=1, Ranks=4{{.*}}"commsched.all_gather 'first': measured"
// REMARK-SAME: TimeNs=1000
// REMARK: remark: [Analysis] EstimatedCollective
// REMARK-SAME: Bytes=2048
// REMARK: remark: [Analysis] EstimatedCollective
// REMARK-SAME: "commsched.all_reduce: {{[a-z]+}} algorithm, {{[a-z0-9]+}} protocol"
func.func @collectives(%a: tensor<64xf32>, %b: tensor<128xf32>) {
  $run(%w1 = all_gather %a on @dp dim(0) {commsched.name = "first"} : tensor<64xf32> -> tensor<256xf32>)
  $run(%w3 = all_gather %b on @dp dim(0) : tensor<128xf32> -> tensor<512xf32>)
  $run(%w5 = all_gather %a on @dp dim(0) {commsched.runtime_ns = 3 : i64} : tensor<64xf32> -> tensor<256xf32>)
  $run(%w7 = all_reduce %a on @dp reduction(sum) : tensor<64xf32> -> tensor<64xf32>)
  return
}

//--- profile.json
[{"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 1024, "time_ns": 1000},
 {"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 4096, "time_ns": 4000}]
//--- negative.json
[{"collective": "all_gather", "ranks": 4, "nodes": 1, "bytes": 1024, "time_ns": -1}]
