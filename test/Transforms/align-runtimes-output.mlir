// RUN: rm -rf %t && mkdir %t
// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:     --commsched-align-runtimes=output=- -o /dev/null \
// RUN:   | %python -m json.tool --compact | FileCheck %s --check-prefix=JSON --implicit-check-not=declared
// RUN: commsched-opt %s --allow-unregistered-dialect --remarks-filter=commsched \
// RUN:     --commsched-align-runtimes=output=%t/times.json -o %t/kept.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Nothing changes.
// RUN: commsched-opt %s --allow-unregistered-dialect | diff %t/kept.mlir -

// The operations and times are those of commsched-estimate-runtime, and a file
// is accepted whatever the names hold.
// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:     --pass-pipeline='builtin.module(func.func(commsched-estimate-runtime))' \
// RUN:     -o %t/estimated.mlir
// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:     --commsched-align-runtimes=ranks=%t/times.json | diff %t/estimated.mlir -

// RUN: %fails commsched-opt %s --allow-unregistered-dialect -o %t/none.mlir --commsched-align-runtimes=output=%t/missing/times.json \
// RUN:   "error: cannot write the times to '{{.*}}times.json': {{N|n}}o such file or directory"
// RUN: not ls %t/none.mlir

// Functions come by name; declarations have no times.
// JSON: {"a \"quoted\" name\ufffd":{"operations":["bytes\ufffd","commsched.barrier 'back\\slash\ufffd'"],"runtime_ns":[3,1]},
func.func @unknown(%x: tensor<?xf32>, %shard: tensor<4xf32>) {
  %0 = commsched.compute "aten.relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = commsched.all_gather %shard on @"dp\FF" dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %2 = commsched.wait %1 : !commsched.future<tensor<8xf32>>
  return
}
commsched.group @"dp\FF" size(2)
func.func private @declared(tensor<4xf32>)
func.func @"a \22quoted\22 name\FD"(%x: tensor<4xf32>) {
  %y = commsched.compute "bytes\FE" (%x) {commsched.runtime_ns = 3 : i64}
      : (tensor<4xf32>) -> tensor<4xf32>
  commsched.barrier on @"dp\FF" {commsched.name = "back\\slash\FE", commsched.runtime_ns = 1 : i64}
  return
}

// The operations of a region come after the one that has it. What states its
// own cost is one operation, and terminators are none.
// JSON-SAME: "nested":{"operations":["arith.constant","arith.constant","arith.constant","scf.for 'loop'","other.op","other.pinned","linalg.add"],
// JSON-SAME: "runtime_ns":[0,0,0,{{[1-9][0-9]+}},{{[1-9][0-9]+}},11,{{[1-9][0-9]+}}]},
func.func @nested(%x: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c20 = arith.constant 20 : index
  %0 = scf.for %i = %c0 to %c20 step %c2 iter_args(%y = %x) -> tensor<16xf32> {
    %1 = "other.op"(%y) : (tensor<16xf32>) -> tensor<16xf32>
    "other.pinned"() {commsched.runtime_ns = 11 : i64} : () -> ()
    scf.yield %1 : tensor<16xf32>
  } {commsched.name = "loop"}
  %2 = linalg.add ins(%0, %x : tensor<16xf32>, tensor<16xf32>)
                  outs(%x : tensor<16xf32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}

// A time that is not known is null, and a remark says why.
// JSON-SAME: "unknown":{"operations":["aten.relu","commsched.all_gather","commsched.wait"],
// JSON-SAME: "runtime_ns":[null,{{[1-9][0-9]*}},0]}}
// REMARK: UnknownCost | Category:commsched | Function=unknown
// REMARK-SAME: "aten.relu has no time: the size of operand 0 of 'commsched.compute', a tensor<?xf32>, is not static"
