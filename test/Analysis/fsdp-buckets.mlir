// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-annotate-fsdp --allow-unregistered-dialect %remarks 2>%t.remarks \
// RUN:   | grep "fsdp = " | not grep -vE 'commsched.fsdp = ("[a-z_]+").* test.fsdp = \1'
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Several tensors in one launch: coalesced, or packed by a copy. All of them
// have to be of FSDP.

!t = tensor<12xbf16>

commsched.group @g size(4)

// REMARK-LABEL: Function=coalesced
// REMARK: 'mixed': gathers argument 2, which is no parameter
// REMARK: 'half': what it scatters goes to aten.add
// REMARK-NOT: NotFsdp
func.func @coalesced(%p: tensor<4xf32> $parameter, %q: tensor<4xf32> $parameter, %x: tensor<4xf32> $in,
    %a: tensor<16xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %cast = arith.truncf %q : tensor<4xf32> to tensor<4xbf16>
  %f0 = commsched.all_gather %p, %cast on @g dim(0)
      {commsched.name = "parameters", test.fsdp = "parameter_gather"} : tensor<4xf32>, tensor<4xbf16>
      -> !commsched.future<tensor<16xf32>, tensor<16xbf16>>
  %w0:2 = commsched.wait %f0 : !commsched.future<tensor<16xf32>, tensor<16xbf16>>
  %f1 = commsched.all_gather %p, %x on @g dim(0) {commsched.name = "mixed"}
      : tensor<4xf32>, tensor<4xf32>
      -> !commsched.future<tensor<16xf32>, tensor<16xf32>>
  %w1:2 = commsched.wait %f1 : !commsched.future<tensor<16xf32>, tensor<16xf32>>
  %f2 = commsched.reduce_scatter %a, %a on @g reduction(avg) dim(0)
      {commsched.name = "gradients", test.fsdp = "gradient_scatter"} : tensor<16xf32>, tensor<16xf32>
      -> !commsched.future<tensor<4xf32>, tensor<4xf32>>
  %w2:2 = commsched.wait %f2 : !commsched.future<tensor<4xf32>, tensor<4xf32>>
  %f3 = commsched.reduce_scatter %a, %a on @g reduction(avg) dim(0)
      {commsched.name = "half"} : tensor<16xf32>, tensor<16xf32>
      -> !commsched.future<tensor<4xf32>, tensor<4xf32>>
  %w3:2 = commsched.wait %f3 : !commsched.future<tensor<4xf32>, tensor<4xf32>>
  %sum = commsched.compute "aten.add"(%x, %w3#1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %w2#0, %w2#1, %w3#0, %sum : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The slice that a copy-in packs, as it is and viewed; a bucket may hold zeros.
// REMARK-LABEL: Function=copied
// REMARK: 'with_input': gathers argument 2, which is no parameter
// REMARK: 'nested': gathers what commsched.all_gather_copy_in makes
// REMARK: 'two_buckets': gathers what aten.cat makes
// REMARK: 'zeros': gathers constants
// REMARK-NOT: NotFsdp
func.func @copied(%p: tensor<4xf32> $parameter, %q: tensor<2x2xf32> $parameter, %x: tensor<4xf32> $in) {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %s0, %b0 = commsched.all_gather_copy_in %p, %q, %zeros on @g : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>
      -> !t, tensor<48xbf16>
  $run(%w0 = all_gather %s0 on @g dim(0) into %b0 {commsched.name = "bucket", test.fsdp = "parameter_gather"} : tensor<12xbf16> into tensor<48xbf16> -> tensor<48xbf16>)

  %view = commsched.compute "aten.view"(%s0) {alias = 0 : i64} : (!t) -> tensor<2x6xbf16>
  $run(%w1 = all_gather %view on @g dim(0) {commsched.name = "viewed", test.fsdp = "parameter_gather"} : tensor<2x6xbf16> -> tensor<8x6xbf16>)

  %s2, %b2 = commsched.all_gather_copy_in %p, %x on @g
      : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>, tensor<32xf32>
  $run(%w2 = all_gather %s2 on @g dim(0) into %b2 {commsched.name = "with_input"} : tensor<8xf32> into tensor<32xf32> -> tensor<32xf32>)

  %s3, %b3 = commsched.all_gather_copy_in %p, %s0 on @g : tensor<4xf32>, !t -> tensor<16xbf16>,
      tensor<64xbf16>
  $run(%w3 = all_gather %s3 on @g dim(0) into %b3 {commsched.name = "nested"} : tensor<16xbf16> into tensor<64xbf16> -> tensor<64xbf16>)

  %cat = commsched.compute "aten.cat"(%s0, %s0) : (!t, !t) -> tensor<24xbf16>
  $run(%w4 = all_gather %cat on @g dim(0) {commsched.name = "two_buckets"} : tensor<24xbf16> -> tensor<96xbf16>)

  %s5, %b5 = commsched.all_gather_copy_in %zeros on @g
      : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
  $run(%w5 = all_gather %s5 on @g dim(0) into %b5 {commsched.name = "zeros"} : tensor<4xf32> into tensor<16xf32> -> tensor<16xf32>)
  return
}

func.func @chunked(%a: tensor<4x2xbf16>, %b: tensor<7x1xbf16>)
    -> (tensor<1x2xf32>, tensor<2x1xf32>) {
  %buffer = commsched.chunk_cat %a, %b on @g : tensor<4x2xbf16>, tensor<7x1xbf16> -> tensor<16xf32>
  $run(%w = reduce_scatter %buffer on @g reduction(avg) dim(0) {test.fsdp = "gradient_scatter"} : tensor<16xf32> -> tensor<4xf32>)
  %0 = commsched.compute "aten.as_strided"(%w) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<1x2xf32>
  %1 = commsched.compute "aten.as_strided"(%w) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<2x1xf32>
  return %0, %1 : tensor<1x2xf32>, tensor<2x1xf32>
}
