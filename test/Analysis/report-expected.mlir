// RUN: commsched-opt %s --commsched-report -o /dev/null | FileCheck %s --check-prefix=TABLE
// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON

// Bytes that follow from hints are expected ones, which the report says.

// TABLE: bytes communicated {{ *}}1.25 KiB  1 collective has sizes known only at run time: expected bytes (~), by size hints
// TABLE: dispatch {{ *}}all_to_all  ep {{ *}}~768 B
// TABLE: sum {{ *}}all_reduce  ep {{ *}}512 B
// JSON: "name":"dispatch",{{.*}}"bytes":768,"bytes_expected":true,
// JSON-SAME: "name":"sum",{{.*}}"bytes":512,"start_ns"

commsched.group @ep size(2)

func.func @step(%x: tensor<8x16xf32>, %s: tensor<2xi64>) {
  %f = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      input_splits(%s : tensor<2xi64>) output_splits(%s : tensor<2xi64>)
      {commsched.name = "dispatch", commsched.size_hints = array<i64: 12>}
      : tensor<8x16xf32> -> !commsched.future<tensor<?x16xf32>>
  %y = commsched.wait %f : !commsched.future<tensor<?x16xf32>>
  %g = commsched.all_reduce %x on @ep reduction(sum) {commsched.name = "sum"}
      : tensor<8x16xf32> -> !commsched.future<tensor<8x16xf32>>
  %z = commsched.wait %g : !commsched.future<tensor<8x16xf32>>
  return
}
