// RUN: commsched-test-opt %s > %t.parsed
// RUN: commsched-test-opt %s --test-deduplicate-gathers --remark-policy=all \
// RUN:   --remark-format=emitRemark --remarks-filter=commsched -o %t 2>&1 \
// RUN:   | FileCheck %s
// RUN: diff %t %t.parsed
// RUN: commsched-test-opt %s --test-deduplicate-gathers=limit-bytes=144 \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LIMIT

// Gathers that are not dropped, and why. Nothing changes.

commsched.group @dp size(2)
commsched.group @other size(2)

// Beside "peak" there are 32 bytes of arguments, 16 of "layer" and its own 64;
// what the first gather delivers are 32 more.
// CHECK: [Missed] DuplicateGatherKept | Category:commsched | Function=memory
// CHECK-SAME: commsched.all_gather 'backward' gathers again what commsched.all_gather 'forward' has gathered: keeping it takes 144 bytes at peak, 32 over the limit of 112
// LIMIT: [Passed] GatherDeduplicated | Category:commsched | Function=memory
// LIMIT-SAME: PeakBytesAfter=144, PeakBytesBefore=112
func.func @memory(%p: tensor<4xf32>, %x: tensor<8xbf16>) -> tensor<8xbf16> {
  %g0 = commsched.all_gather %p on @dp dim(0) {commsched.name = "forward"}
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w0 = commsched.wait %g0 : !commsched.future<tensor<8xf32>>
  %y = commsched.compute "layer"(%x, %w0)
      : (tensor<8xbf16>, tensor<8xf32>) -> tensor<8xbf16>
  %peak = commsched.compute "peak"(%x) : (tensor<8xbf16>) -> tensor<16xf32>
  %g1 = commsched.all_gather %p on @dp dim(0) {commsched.name = "backward"}
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w1 = commsched.wait %g1 : !commsched.future<tensor<8xf32>>
  %d = commsched.compute "gradient"(%y, %w1)
      : (tensor<8xbf16>, tensor<8xf32>) -> tensor<8xbf16>
  return %d : tensor<8xbf16>
}

// "step" writes the parameter between the two.
// CHECK: Function=parameter_written
// CHECK-SAME: commsched.all_gather 'second' gathers again what commsched.all_gather 'first' has gathered: step writes in place
// CHECK-NOT: Function=parameter_written
func.func @parameter_written(%p: tensor<4xf32>)
    -> (tensor<8xf32>, tensor<4xf32>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %g0 = commsched.all_gather %p on @dp dim(0) {commsched.name = "first"}
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w0 = commsched.wait %g0 : !commsched.future<tensor<8xf32>>
  %step = commsched.compute "step"(%p) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %g1 = commsched.all_gather %p on @dp dim(0) {commsched.name = "second"}
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w1 = commsched.wait %g1 : !commsched.future<tensor<8xf32>>
  %sum = arith.addf %w0, %w1 : tensor<8xf32>
  return %sum, %step : tensor<8xf32>, tensor<4xf32>
}

// The cast may be of the old contents, though the gather starts later.
// CHECK: Function=parameter_written_after_the_cast
// CHECK-SAME: step writes in place
func.func @parameter_written_after_the_cast(%p: tensor<4xf32>)
    -> (tensor<8xbf16>, tensor<4xf32>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %c0 = commsched.compute "cast"(%p) : (tensor<4xf32>) -> tensor<4xbf16>
  %step = commsched.compute "step"(%p) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %c1 = commsched.compute "cast"(%p) : (tensor<4xf32>) -> tensor<4xbf16>
  %g0 = commsched.all_gather %c0 on @dp dim(0)
      : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %w0 = commsched.wait %g0 : !commsched.future<tensor<8xbf16>>
  %g1 = commsched.all_gather %c1 on @dp dim(0)
      : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %w1 = commsched.wait %g1 : !commsched.future<tensor<8xbf16>>
  %sum = arith.addf %w0, %w1 : tensor<8xbf16>
  return %sum, %step : tensor<8xbf16>, tensor<4xf32>
}

// Here it is the second that is of the old contents.
// CHECK: Function=parameter_written_before_the_cast
// CHECK-SAME: commsched.all_gather 'second' gathers again what commsched.all_gather 'first' has gathered: step writes in place
func.func @parameter_written_before_the_cast(%p: tensor<4xf32>)
    -> (tensor<8xbf16>, tensor<4xf32>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %c1 = commsched.compute "cast"(%p) : (tensor<4xf32>) -> tensor<4xbf16>
  %step = commsched.compute "step"(%p) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %c0 = commsched.compute "cast"(%p) : (tensor<4xf32>) -> tensor<4xbf16>
  %g0 = commsched.all_gather %c0 on @dp dim(0) {commsched.name = "first"}
      : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %w0 = commsched.wait %g0 : !commsched.future<tensor<8xbf16>>
  %g1 = commsched.all_gather %c1 on @dp dim(0) {commsched.name = "second"}
      : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %w1 = commsched.wait %g1 : !commsched.future<tensor<8xbf16>>
  %sum = arith.addf %w0, %w1 : tensor<8xbf16>
  return %sum, %step : tensor<8xbf16>, tensor<4xf32>
}

// CHECK: Function=parameter_in_a_region
// CHECK-SAME: step writes in place
func.func @parameter_in_a_region(%p: tensor<4xf32>)
    -> (tensor<8xf32>, tensor<4xf32>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %c0 = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %p[%i] : tensor<4xf32>
    tensor.yield %e : f32
  } : tensor<4xf32>
  %g0 = commsched.all_gather %c0 on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w0 = commsched.wait %g0 : !commsched.future<tensor<8xf32>>
  %step = commsched.compute "step"(%p) {mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %c1 = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %p[%i] : tensor<4xf32>
    tensor.yield %e : f32
  } : tensor<4xf32>
  %g1 = commsched.all_gather %c1 on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w1 = commsched.wait %g1 : !commsched.future<tensor<8xf32>>
  %sum = arith.addf %w0, %w1 : tensor<8xf32>
  return %sum, %step : tensor<8xf32>, tensor<4xf32>
}

// CHECK: Function=shard_written
// CHECK-SAME: commsched.all_gather 'second' gathers again what commsched.all_gather 'first' has gathered: scale writes in place
func.func @shard_written(%p: tensor<2x2xf32>)
    -> (tensor<8xbf16>, tensor<2x2xbf16>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %c0 = commsched.compute "cast"(%p) : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  %f0 = commsched.compute "flatten"(%c0) : (tensor<2x2xbf16>) -> tensor<4xbf16>
  %g0 = commsched.all_gather %f0 on @dp dim(0) {commsched.name = "first"}
      : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %w0 = commsched.wait %g0 : !commsched.future<tensor<8xbf16>>
  %c1 = commsched.compute "cast"(%p) : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  %scale = commsched.compute "scale"(%c1) {mutates = array<i64: 0>}
      : (tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %f1 = commsched.compute "flatten"(%c1) : (tensor<2x2xbf16>) -> tensor<4xbf16>
  %g1 = commsched.all_gather %f1 on @dp dim(0) {commsched.name = "second"}
      : tensor<4xbf16> -> !commsched.future<tensor<8xbf16>>
  %w1 = commsched.wait %g1 : !commsched.future<tensor<8xbf16>>
  %sum = arith.addf %w0, %w1 : tensor<8xbf16>
  return %sum, %scale : tensor<8xbf16>, tensor<2x2xbf16>
}

// What either of them delivers is changed.
// CHECK: Function=result_written
// CHECK-SAME: commsched.all_gather 'b' gathers again what commsched.all_gather 'a' has gathered: scale_a writes in place
// CHECK: Function=result_written
// CHECK-SAME: commsched.all_gather 'c' gathers again what commsched.all_gather 'b' has gathered: scale_c writes in place
func.func @result_written(%p: tensor<4xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %ga = commsched.all_gather %p on @dp dim(0) {commsched.name = "a"}
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %wa = commsched.wait %ga : !commsched.future<tensor<8xf32>>
  %sa = commsched.compute "scale_a"(%wa)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<8xf32>) -> tensor<8xf32>
  %gb = commsched.all_gather %p on @dp dim(0) {commsched.name = "b"}
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %wb = commsched.wait %gb : !commsched.future<tensor<8xf32>>
  %gc = commsched.all_gather %p on @dp dim(0) {commsched.name = "c"}
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %wc = commsched.wait %gc : !commsched.future<tensor<8xf32>>
  %sc = commsched.compute "scale_c"(%wc) {mutates = array<i64: 0>}
      : (tensor<8xf32>) -> tensor<8xf32>
  return %sa, %wb, %sc : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Another parameter, cast, dimension, group or type; in place, or together with
// others: no remark, as none gathers the same.
// CHECK-NOT: remark
func.func @others(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>,
                  %buffer: tensor<8x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>,
        tensor<8x4xbf16>, tensor<8x4xf16>, tensor<8x4xf32>, tensor<8x4xf32>,
        tensor<8x4xf32>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %g0 = commsched.all_gather %p on @dp dim(0)
      : tensor<4x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %w0 = commsched.wait %g0 : !commsched.future<tensor<8x4xf32>>
  %g1 = commsched.all_gather %q on @dp dim(0)
      : tensor<4x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %w1 = commsched.wait %g1 : !commsched.future<tensor<8x4xf32>>
  %g2 = commsched.all_gather %p on @dp dim(1)
      : tensor<4x4xf32> -> !commsched.future<tensor<4x8xf32>>
  %w2 = commsched.wait %g2 : !commsched.future<tensor<4x8xf32>>
  %g3 = commsched.all_gather %p on @other dim(0)
      : tensor<4x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %w3 = commsched.wait %g3 : !commsched.future<tensor<8x4xf32>>
  %c4 = commsched.compute "cast"(%p) : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %g4 = commsched.all_gather %c4 on @dp dim(0)
      : tensor<4x4xbf16> -> !commsched.future<tensor<8x4xbf16>>
  %w4 = commsched.wait %g4 : !commsched.future<tensor<8x4xbf16>>
  %c5 = commsched.compute "cast"(%p) : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %g5 = commsched.all_gather %c5 on @dp dim(0)
      : tensor<4x4xf16> -> !commsched.future<tensor<8x4xf16>>
  %w5 = commsched.wait %g5 : !commsched.future<tensor<8x4xf16>>
  %c6 = commsched.compute "view"(%p) {alias = 0 : i64}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %g6 = commsched.all_gather %c6 on @dp dim(0)
      : tensor<4x4xf32> -> !commsched.future<tensor<8x4xf32>>
  %w6 = commsched.wait %g6 : !commsched.future<tensor<8x4xf32>>
  %g7 = commsched.all_gather %p on @dp dim(0) into %buffer
      : tensor<4x4xf32> into tensor<8x4xf32>
      -> !commsched.future<tensor<8x4xf32>>
  %w7 = commsched.wait %g7 : !commsched.future<tensor<8x4xf32>>
  %g8 = commsched.all_gather %p, %p on @dp dim(0)
      : tensor<4x4xf32>, tensor<4x4xf32>
      -> !commsched.future<tensor<8x4xf32>, tensor<8x4xf32>>
  %w8:2 = commsched.wait %g8
      : !commsched.future<tensor<8x4xf32>, tensor<8x4xf32>>
  return %w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7, %w8#1
      : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>,
        tensor<8x4xbf16>, tensor<8x4xf16>, tensor<8x4xf32>, tensor<8x4xf32>,
        tensor<8x4xf32>
}

// Nor is what writes a parameter into another tensor looked at, or a copy-in, or
// what is made of a tensor that is written.
func.func @copies(%p: tensor<4xf32>, %buffer: tensor<8xf32>, %q: tensor<3xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %e0 = tensor.empty() : tensor<4xf32>
  %c0 = commsched.compute "copy_"(%e0, %p)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g0 = commsched.all_gather %c0 on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w0 = commsched.wait %g0 : !commsched.future<tensor<8xf32>>
  %e1 = tensor.empty() : tensor<4xf32>
  %c1 = commsched.compute "copy_"(%e1, %p)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g1 = commsched.all_gather %c1 on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w1 = commsched.wait %g1 : !commsched.future<tensor<8xf32>>
  %slice, %all = commsched.all_gather_copy_in %p on @dp
      : tensor<4xf32> -> tensor<4xf32>, tensor<8xf32>
  %g2 = commsched.all_gather %slice on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w2 = commsched.wait %g2 : !commsched.future<tensor<8xf32>>
  %g3 = commsched.all_gather %slice on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w3 = commsched.wait %g3 : !commsched.future<tensor<8xf32>>
  %g4 = commsched.all_gather %p on @dp dim(0) into %buffer
      : tensor<4xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %w4 = commsched.wait %g4 : !commsched.future<tensor<8xf32>>
  %g5 = commsched.all_gather %p on @dp dim(0) into %buffer
      : tensor<4xf32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %w5 = commsched.wait %g5 : !commsched.future<tensor<8xf32>>
  %e6 = tensor.empty() : tensor<4xf32>
  %zeros = commsched.compute "zero_"(%e6)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %s6 = tensor.insert_slice %q into %zeros[0] [3] [1]
      : tensor<3xf32> into tensor<4xf32>
  %c6 = commsched.compute "copy"(%s6) : (tensor<4xf32>) -> tensor<4xf32>
  %g6 = commsched.all_gather %c6 on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w6 = commsched.wait %g6 : !commsched.future<tensor<8xf32>>
  %ones = commsched.compute "ones_"(%zeros)
      {alias = 0 : i64, mutates = array<i64: 0>}
      : (tensor<4xf32>) -> tensor<4xf32>
  %s7 = tensor.insert_slice %q into %zeros[0] [3] [1]
      : tensor<3xf32> into tensor<4xf32>
  %c7 = commsched.compute "copy"(%s7) : (tensor<4xf32>) -> tensor<4xf32>
  %g7 = commsched.all_gather %c7 on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<8xf32>>
  %w7 = commsched.wait %g7 : !commsched.future<tensor<8xf32>>
  return %w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7
      : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>,
        tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
