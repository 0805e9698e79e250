// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-annotate-fsdp \
// RUN:   --allow-unregistered-dialect %remarks 2>%t.remarks \
// RUN:   | grep "fsdp = " | not grep -vE 'commsched.fsdp = ("[a-z_]+").* test.fsdp = \1'
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A gather of parameters is one whose operand is made of exactly one parameter,
// without arithmetic.

!t = tensor<4x4xf32>
!u = tensor<4x8xf32>
!v = tensor<16x4xf32>
!w = tensor<3x8xf32>
!p = tensor<4x8xbf16>
!r = tensor<1x8xf32>

commsched.group @g size(4)

func.func @gathered(%p: !u $parameter, %rows: index) {
  $run(%w0 = all_gather %p on @g dim(0) {commsched.name = "direct", test.fsdp = "parameter_gather"} : tensor<4x8xf32> -> tensor<16x8xf32>)

  %cast = arith.truncf %p : !u to !p
  $run(%w1 = all_gather %cast on @g dim(0) {commsched.name = "cast", test.fsdp = "parameter_gather"} : tensor<4x8xbf16> -> tensor<16x8xbf16>)

  %copy = commsched.compute "aten._to_copy"(%p) : (!u) -> !p
  $run(%w2 = all_gather %copy on @g dim(0) {commsched.name = "copy", test.fsdp = "parameter_gather"} : tensor<4x8xbf16> -> tensor<16x8xbf16>)

  // The type is converted in the body of a structured operation.
  %empty = tensor.empty() : !p
  %map = linalg.map ins(%p : !u) outs(%empty : !p) (%in: f32, %out: bf16) {
        %t = arith.truncf %in : f32 to bf16
        linalg.yield %t : bf16
      }
  $run(%w3 = all_gather %map on @g dim(0) {commsched.name = "mapped", test.fsdp = "parameter_gather"} : tensor<4x8xbf16> -> tensor<16x8xbf16>)

  %view = commsched.compute "aten.view"(%copy) {alias = 0 : i64} : (!p) -> tensor<32xbf16>
  %slice = tensor.extract_slice %view[%rows] [16] [1] : tensor<32xbf16> to tensor<16xbf16>
  %shape = tensor.expand_shape %slice [[0, 1]] output_shape [4, 4]
      : tensor<16xbf16> into tensor<4x4xbf16>
  $run(%w4 = all_gather %shape on @g dim(0) {commsched.name = "views", test.fsdp = "parameter_gather"} : tensor<4x4xbf16> -> tensor<16x4xbf16>)
  return
}

// Zeros that a shard is padded with do not count, wherever they come from.
func.func @padded(%p: !w $parameter, %value: f32) {
  %zeros = arith.constant dense<0.0> : !r
  %concat = tensor.concat dim(0) %p, %zeros : (!w, !r) -> !u
  $run(%w0 = all_gather %concat on @g dim(0) {commsched.name = "concat", test.fsdp = "parameter_gather"} : tensor<4x8xf32> -> tensor<16x8xf32>)

  %made = commsched.compute "aten.zeros"() : () -> !r
  %cat = commsched.compute "aten.cat"(%p, %made) : (!w, !r) -> !u
  $run(%w1 = all_gather %cat on @g dim(0) {commsched.name = "cat", test.fsdp = "parameter_gather"} : tensor<4x8xf32> -> tensor<16x8xf32>)

  // A concatenation may convert.
  %half = commsched.compute "aten.zeros"() : () -> tensor<1x8xbf16>
  %promoted = commsched.compute "aten.cat"(%p, %half) : (!w, tensor<1x8xbf16>) -> !u
  $run(%w6 = all_gather %promoted on @g dim(0) {commsched.name = "promoted", test.fsdp = "parameter_gather"} : tensor<4x8xf32> -> tensor<16x8xf32>)

  // Parts of one parameter, with zeros between them.
  %halves:2 = commsched.compute "aten.split"(%p) {alias = 0 : i64} : (!w) -> (!r, tensor<2x8xf32>)
  %parts = commsched.compute "aten.cat"(%halves#1, %made, %halves#0) : (tensor<2x8xf32>, !r, !r) -> !u
  $run(%w2 = all_gather %parts on @g dim(0) {commsched.name = "parts", test.fsdp = "parameter_gather"} : tensor<4x8xf32> -> tensor<16x8xf32>)

  %pad = tensor.pad %p low[0, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %value : f32
  } : tensor<3x8xf32> to tensor<4x8xf32>
  $run(%w3 = all_gather %pad on @g dim(0) {commsched.name = "pad", test.fsdp = "parameter_gather"} : tensor<4x8xf32> -> tensor<16x8xf32>)

  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !u
  %fill = linalg.fill ins(%zero : f32) outs(%empty : !u) -> !u
  %inserted = tensor.insert_slice %p into %fill[0, 0] [3, 8] [1, 1] : !w into !u
  $run(%w4 = all_gather %inserted on @g dim(0) {commsched.name = "inserted", test.fsdp = "parameter_gather"} : tensor<4x8xf32> -> tensor<16x8xf32>)

  // As PyTorch packs a bucket: the slice of a new buffer is written in place.
  %buffer = commsched.compute "aten.empty"() : () -> tensor<16xf32>
  %narrow = commsched.compute "aten.narrow"(%buffer) {alias = 0 : i64} : (tensor<16xf32>) -> !w
  %written = commsched.compute "aten.copy_"(%narrow, %p) {alias = 0 : i64, mutates = array<i64: 0>} : (!w, !w)
      -> !w
  $run(%w5 = all_gather %written on @g dim(0) {commsched.name = "written", test.fsdp = "parameter_gather"} : tensor<3x8xf32> -> tensor<12x8xf32>)
  return
}

// What comes from something else than one parameter is no gather of one. The
// first gather makes the group one of FSDP, so that a remark says why.
// REMARK-LABEL: Function=others
func.func @others(%p: !t $parameter, %q: !t {commsched.role = "parameter", commsched.name = "q"}, %x: !t
    {commsched.role = "input", commsched.name = "x"}, %y: !t, %u: memref<4x4xf32>
    {commsched.role = "unsharded_param"}) {
  %f0 = commsched.all_gather %p on @g dim(0) {commsched.name = "fsdp", test.fsdp = "parameter_gather"} : !t -> !commsched.future<!v>
  %w0 = commsched.wait %f0 {commsched.name = "whole"} : !commsched.future<!v>

  %cat = commsched.compute "aten.cat"(%p, %q) : (!t, !t) -> tensor<8x4xf32>
  $run(%w1 = all_gather %cat on @g dim(0) {commsched.name = "two"} : tensor<8x4xf32> -> tensor<32x4xf32>)
  // REMARK: Missed] NotFsdp | Category:commsched | Function=others
  // REMARK-SAME: commsched.all_gather 'two': gathers both argument 0 and argument 1 'q'

  $run(%w2 = all_gather %x on @g dim(0) {commsched.name = "input"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'input': gathers argument 2 'x', which is no parameter

  $run(%w3 = all_gather %y on @g dim(0) {commsched.name = "unsaid"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'unsaid': gathers argument 3, which is no parameter

  %padded = commsched.compute "aten.cat"(%p, %x) : (!t, !t) -> tensor<8x4xf32>
  $run(%w4 = all_gather %padded on @g dim(0) {commsched.name = "both"} : tensor<8x4xf32> -> tensor<32x4xf32>)
  // REMARK: 'both': gathers argument 2 'x', which is no parameter

  %mm = commsched.compute "aten.mm"(%p, %p) {flops = 128.0} : (!t, !t) -> !t
  %view = commsched.compute "aten.view"(%mm) {alias = 0 : i64} : (!t) -> tensor<16xf32>
  $run(%w5 = all_gather %view on @g dim(0) {commsched.name = "product"} : tensor<16xf32> -> tensor<64xf32>)
  // REMARK: 'product': gathers what aten.mm makes

  // Not the shape of a concatenation.
  %ones = arith.constant dense<1.0> : !t
  %mul = commsched.compute "aten.mul"(%p, %ones) : (!t, !t) -> !t
  $run(%w6 = all_gather %mul on @g dim(0) {commsched.name = "scaled"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'scaled': gathers what aten.mul makes

  %neg = arith.negf %p {commsched.name = "minus"} : !t
  $run(%w7 = all_gather %neg on @g dim(0) {commsched.name = "negated"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'negated': gathers what arith.negf 'minus' makes

  %dropout = commsched.compute "aten.bernoulli"(%p) {random} : (!t) -> !t
  $run(%w8 = all_gather %dropout on @g dim(0) {commsched.name = "random"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'random': gathers what aten.bernoulli makes

  $run(%w9 = all_gather %w0 on @g dim(0) {commsched.name = "again"} : tensor<16x4xf32> -> tensor<64x4xf32>)
  // REMARK: 'again': gathers what commsched.wait 'whole' makes

  %foreign = "foreign.cast"(%p) : (!t) -> !t
  $run(%w10 = all_gather %foreign on @g dim(0) {commsched.name = "unknown"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'unknown': gathers what foreign.cast makes

  $run(%w11 = all_gather %ones on @g dim(0) {commsched.name = "ones"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'ones': gathers constants

  %full = bufferization.to_tensor %u : memref<4x4xf32> to !t
  $run(%w12 = all_gather %full on @g dim(0) {commsched.name = "full"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'full': gathers argument 4, which is no parameter

  // Who knows what is in this memory.
  %memory = memref.alloc() : memref<4x4xf32>
  %read = bufferization.to_tensor %memory : memref<4x4xf32> to !t
  $run(%w13 = all_gather %read on @g dim(0) {commsched.name = "memory"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'memory': gathers what memref.alloc makes

  // Arithmetic may be hidden in a region.
  %empty = tensor.empty() : !t
  %map = linalg.map ins(%p : !t) outs(%empty : !t) (%in: f32, %out: f32) {
        %t = arith.addf %in, %in : f32
        linalg.yield %t : f32
      }
  $run(%w14 = all_gather %map on @g dim(0) {commsched.name = "region"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'region': gathers what linalg.map makes

  // Along two dimensions.
  %diag = commsched.compute "aten.block_diag"(%p, %ones) : (!t, !t) -> tensor<8x8xf32>
  $run(%w15 = all_gather %diag on @g dim(0) {commsched.name = "diagonal"} : tensor<8x8xf32> -> tensor<32x8xf32>)
  // REMARK: 'diagonal': gathers what aten.block_diag makes

  // Part of one parameter written into another.
  %inserted = tensor.insert_slice %p into %q[0, 0] [4, 4] [1, 1] : !t into !t
  $run(%w16 = all_gather %inserted on @g dim(0) {commsched.name = "overwritten"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'overwritten': gathers both argument 0 and argument 1 'q'
  // REMARK-NOT: NotFsdp
  return
}

// Sizes that are not static: whether the body of a structured operation does
// arithmetic is not counted, and no shape shows a concatenation.
// REMARK-LABEL: Function=dynamic
// REMARK: 'region': gathers what linalg.map makes
// REMARK: 'concat': gathers what tensor.concat makes
func.func @dynamic(%p: tensor<?xf32> $parameter, %n: index)
{
  %cast = arith.truncf %p : tensor<?xf32> to tensor<?xbf16>
  $run(%w0 = all_gather %cast on @g dim(0) {commsched.name = "cast", test.fsdp = "parameter_gather"} : tensor<?xbf16> -> tensor<?xbf16>)
  %empty = tensor.empty(%n) : tensor<?xf32>
  %map = linalg.map ins(%p : tensor<?xf32>) outs(%empty : tensor<?xf32>) (%in: f32, %out: f32) {
        %t = arith.addf %in, %in : f32
        linalg.yield %t : f32
      }
  $run(%w1 = all_gather %map on @g dim(0) {commsched.name = "region"} : tensor<?xf32> -> tensor<?xf32>)
  %concat = tensor.concat dim(0) %p, %empty : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  $run(%w2 = all_gather %concat on @g dim(0) {commsched.name = "concat"} : tensor<?xf32> -> tensor<?xf32>)
  return
}

// Where no argument of a function has a role, each may be a parameter.
// REMARK-LABEL: Function=without_roles
func.func @without_roles(%p: !t, %q: !t) {
  $run(%w0 = all_gather %p on @g dim(0) {commsched.name = "p", test.fsdp = "parameter_gather"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  %sum = commsched.compute "aten.add"(%p, %q) : (!t, !t) -> !t
  $run(%w1 = all_gather %sum on @g dim(0) {commsched.name = "sum"} : tensor<4x4xf32> -> tensor<16x4xf32>)
  // REMARK: 'sum': gathers what aten.add makes
  return
}

// A collective on a group on which no parameters are gathered is no surprise.
// REMARK-LABEL: Function=other_group
// REMARK-SAME: GradientReduces=0, GradientScatters=0, ParameterGathers=0
// REMARK-NOT: NotFsdp
func.func @other_group(%x: !t $in) {
  $run(%w0 = all_gather %x on @g dim(0) : tensor<4x4xf32> -> tensor<16x4xf32>)
  return
}
