// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// RUN: commsched-opt %s --commsched-reinplace-all-gather \
// RUN:   --commsched-report=format=json -o /dev/null | FileCheck %s

// Gathered in place, there is one buffer for all ranks and not two: 16 bytes of
// %a and 64 for each.

commsched.group @dp size(4)

// BEFORE: "peak_memory_bytes":144,
// CHECK: "peak_memory_bytes":80,
func.func @gather(%a: tensor<4xf32>) -> tensor<16xf32> {
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  %future = commsched.all_gather %slice on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  return %full : tensor<16xf32>
}
