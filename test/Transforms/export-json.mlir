// RUN: rm -rf %t && mkdir %t
// RUN: commsched-opt %s --allow-unregistered-dialect -o /dev/null \
// RUN:   --commsched-export-json | FileCheck %s

// The pass may run twice, as flags and in a pipeline. The module stays as it is.
// RUN: commsched-opt %s --allow-unregistered-dialect \
// RUN:   --commsched-export-json=file=%t/a.json --symbol-dce \
// RUN:   --commsched-export-json=file=%t/b.json | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s < %t/a.json
// RUN: FileCheck %s --check-prefix=DCE < %t/b.json
// RUN: commsched-opt %s --allow-unregistered-dialect -o /dev/null \
// RUN:   --pass-pipeline='builtin.module(commsched-export-json{file=%t/c.json},symbol-dce,commsched-export-json{file=%t/d.json})'
// RUN: cmp %t/a.json %t/c.json && cmp %t/b.json %t/d.json

// The reference page lists all keys, and no other ones.
// RUN: %python %src/test/Tools/Inputs/check_report_keys.py \
// RUN:   %src/docs/reference/program-json.md %t/a.json

// RUN: %fails commsched-opt %s --allow-unregistered-dialect -o %t/out.mlir --commsched-export-json=file=%t/missing/a.json "error: cannot write the program to '{{.*}}a.json': {{N|n}}o such file or directory"
// RUN: not ls %t/out.mlir
// RUN: %fails commsched-opt %s --allow-unregistered-dialect --commsched-export-json=file=%t "error: cannot write the program to '{{.*}}': {{I|i}}s a directory"
// RUN: %fails commsched-opt %s --allow-unregistered-dialect --commsched-export-json=format=xml 'no such option format'


// IR: func.func @forward
// IR-NOT: version

module attributes {test.step = 3 : i64} {

// CHECK: {"version":1,"attributes":{"test.step":3},"groups":[
// CHECK-SAME: {"name":"dp","size":4,"ranks_per_node":4,"stride":2,"attributes":{"test.x":1}}
// CHECK-SAME: {"name":"a b","size":2,"ranks_per_node":1,"ranks":{{\[\[}}0,3],[1,2]],"attributes":{}}],
commsched.group @dp size(4) stride(2) {test.x = 1}
commsched.group @"a b" size(2) ranks_per_node(1) ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)

// A function without a body, and one with several blocks.
// CHECK-SAME: "functions":[{"name":"declared","attributes":{"sym_visibility":"private"},"blocks":0}
// CHECK-SAME: {"name":"blocks","attributes":{},"blocks":2}
// DCE-NOT: "declared"
func.func private @declared(i32)
func.func @blocks() {
  cf.br ^end
^end:
  return
}

// CHECK-SAME: {"name":"forward","attributes":{"commsched.graph":"step"},"blocks":1,"arguments":[
// CHECK-SAME: {"id":0,"name":"w","type":{"kind":"tensor","shape":[4,2],"element":"bf16"},"role":"parameter","attributes":{"commsched.freeable":true}}
// CHECK-SAME: {"id":1,"type":{"kind":"memref","shape":[8],"element":"f32","layout":"strided<[2]>","memory_space":"1 : i64"},"attributes":{}}
// CHECK-SAME: {"id":2,"type":{"kind":"tensor","shape":[null,2],"element":"f32","encoding":"\"enc\""},"attributes":{}}
// CHECK-SAME: {"id":3,"type":{"kind":"other","text":"tensor<*xf32>"},"attributes":{}}]
// CHECK-SAME: "operations":[
func.func @forward(
    %w: tensor<4x2xbf16> {commsched.role = "parameter", commsched.name = "w",
                          commsched.freeable},
    %m: memref<8xf32, strided<[2]>, 1>, %d: tensor<?x2xf32, "enc">,
    %u: tensor<*xf32>) -> tensor<8x2xbf16>
    attributes {commsched.graph = "step"} {
  // A symbol needs no quotes.
  // CHECK-SAME: {"op":"commsched.all_gather","name":"gather","operands":[0],
  // CHECK-SAME: "results":[{"id":4,"type":{"kind":"future","values":[{"kind":"tensor","shape":[8,2],"element":"bf16"}]}}]
  // CHECK-SAME: "attributes":{"dim":0,"group":"@a b","operandSegmentSizes":[1,0]}}
  %f = commsched.all_gather %w on @"a b" dim(0) {commsched.name = "gather"}
    : tensor<4x2xbf16> -> !commsched.future<tensor<8x2xbf16>>
  // CHECK-SAME: {"op":"commsched.wait","operands":[4],"results":[{"id":5,"type":{{.*}}],"attributes":{}},
  %0 = commsched.wait %f : !commsched.future<tensor<8x2xbf16>>
  // CHECK-SAME: {"op":"commsched.compute","name":"mm","origin":{{\[\[}}"a+b"],["c","d"]],"operands":[5,5],"results":[{"id":6,{{.*}}{"id":7,"type":{"kind":"tensor","shape":[],"element":"i1"}}]
  // CHECK-SAME: "attributes":{"callee":"aten.mm","commsched.runtime_ns":5}}
  %c:2 = commsched.compute "aten.mm"(%0, %0)
    {commsched.name = "mm", commsched.origin = ["a+b", ["c", "d"]], commsched.runtime_ns = 5 : i64}
    : (tensor<8x2xbf16>, tensor<8x2xbf16>) -> (tensor<8x2xbf16>, tensor<i1>)

  // Operations inside regions are not written, only which values they use.
  // CHECK-SAME: {"op":"test.nested","operands":[2],"regions":2,"captures":[5,6],"results":[{"id":8,"type":{"kind":"other","text":"!test.token<\"x\">"}}],"attributes":{"inherent":"z"}}
  // CHECK-NOT: test.inner
  %t = "test.nested"(%d) <{inherent = "z"}> ({
  ^bb0(%x: i32):
    "test.inner"(%x, %0) : (i32, tensor<8x2xbf16>) -> ()
    "test.inner"(%c#0) : (tensor<8x2xbf16>) -> ()
  }, {}) : (tensor<?x2xf32, "enc">) -> !test.token<"x">

  // CHECK-SAME: {"op":"test.attributes","operands":[],"results":[],"attributes":{
  // CHECK-SAME: "array":[1,"x",[true]],"big":"123456789012345678901234567890 : i128"
  // CHECK-SAME: "bool":false,"bools":[true],"dense":"dense<[1, 2]> : tensor<2xi64>"
  // CHECK-SAME: "dictionary":{"a":1,"commsched.name":"kept"},"empty":[],"f80":"1.500000e+00 : f80"
  // CHECK-SAME: "float":1.5,"floats":"array<f32: 1.000000e+00>","index":7,"inf":"0x7F800000 : f32"
  // CHECK-SAME: "large":"dense_resource<__elided__> : tensor<32xi8>","map":"affine_map<(d0) -> (d0 + 1)>"
  // CHECK-SAME: "nested":"@a::@b","signed":-3,"string":"a\"b{{.*}}","type":"i32","unit":true,"unsigned":18446744073709551615}}
  "test.attributes"() {
    unit, bool = false, big = 123456789012345678901234567890 : i128,
    unsigned = 18446744073709551615 : ui64, signed = -3 : si8, index = 7 : index,
    float = 1.5 : bf16, inf = 0x7F800000 : f32, f80 = 1.5 : f80, type = i32,
    string = "a\22b\FF", nested = @a::@b, array = [1, "x", [unit]],
    empty = array<i32>, floats = array<f32: 1.0>, bools = array<i1: true>,
    dictionary = {a = 1, commsched.name = "kept"},
    dense = dense<[1, 2]> : tensor<2xi64>,
    large = dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"> : tensor<32xi8>,
    map = affine_map<(d0) -> (d0 + 1)>} : () -> ()
  // CHECK-SAME: ],"results":[6]}
  return %c#0 : tensor<8x2xbf16>
}

}
