// RUN: commsched-opt %s --commsched-pipeline=memory-budget=500 -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXCEEDED
// RUN: not commsched-opt %s --commsched-pipeline="memory-budget=500 strict" -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: commsched-opt %s --commsched-pipeline=memory-budget=512 --commsched-report="format=json output=%t.json" -o %t 2>&1 | FileCheck %s --check-prefix=FITS --allow-empty
// RUN: not grep -E '"function":"(one|part|step)".*own sizes' %t.json && grep '"function":"all".*own sizes are those of all devices"' %t.json
// RUN: grep -c "@part.*commsched.beside_bytes = 128" %t
// RUN: commsched-opt %s --commsched-pipeline="memory-budget=1012 reserved-bytes=512" -o /dev/null 2>&1 | FileCheck %s --check-prefix=RESERVED
// RUN: commsched-opt %s --commsched-pipeline=memory-budget=50% -o /dev/null 2>&1 | FileCheck %s --check-prefix=FITS --allow-empty
// RUN: commsched-opt %s --commsched-pipeline="memory-budget=1000 budget-on=reserved" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALLOCATED

// STRICT: error: cannot be scheduled: the schedule that needs least takes 384 bytes, 12 over the budget of 372
// EXCEEDED: warning: 'part': memory-budget=500 cannot be met: the schedule that needs least takes 384 bytes, 12 over the budget of 372
// EXCEEDED-NOT: warning
// EXCEEDED: warning: 'step': memory-budget=500 cannot be met: the schedule that needs least takes 512 bytes, 12 over the budget of 500
// EXCEEDED-NOT: warning
// FITS-NOT: warning
// ALLOCATED: warning: 'step': memory-budget=1000 cannot be met: the allocator reserves 2097152 bytes for the schedule that needs least, 2096152 over the budget of 1000
// RESERVED: warning: 'step': memory-budget=1012 cannot be met: the schedule that needs least takes 512 bytes, 12 over the budget of 500

// A step with what its parts do not know of: 64 bytes for each argument, 256 for
// what the part gathers, and 64 for its result.
commsched.group @g size(4)
func.func @step(%w: tensor<16xf32>, %m: tensor<16xf32>, %n: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %a = call @part(%w) {no_inline} : (tensor<16xf32>) -> tensor<16xf32>
  %b = commsched.compute "add"(%m, %n) {commsched.runtime_ns = 1 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %a, %b : tensor<16xf32>, tensor<16xf32>
}
func.func private @part(%w: tensor<16xf32>) -> tensor<16xf32> {
  %f = commsched.all_gather %w on @g dim(0) {commsched.runtime_ns = 1 : i64} : tensor<16xf32> -> !commsched.future<tensor<64xf32>>
  %x = commsched.wait %f : !commsched.future<tensor<64xf32>>
  %y = commsched.compute "mm"(%x) {commsched.runtime_ns = 1 : i64} : (tensor<64xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// The caller of the program of one device has the shapes of all: a budget says
// nothing of it, and nothing of it is taken off the program's.
func.func @all(%x: tensor<1024xf32>, %w: tensor<16xf32>) -> tensor<16xf32> {
  %a = call @one(%w) : (tensor<16xf32>) -> tensor<16xf32>
  return %a : tensor<16xf32>
}
func.func private @one(%w: tensor<16xf32>) -> tensor<16xf32> attributes {commsched.per_device} {
  %f = commsched.all_gather %w on @g dim(0) {commsched.runtime_ns = 1 : i64} : tensor<16xf32> -> !commsched.future<tensor<64xf32>>
  %x = commsched.wait %f : !commsched.future<tensor<64xf32>>
  %y = commsched.compute "mm"(%x) {commsched.runtime_ns = 1 : i64} : (tensor<64xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}
