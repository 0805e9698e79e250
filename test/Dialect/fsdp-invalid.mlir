// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

commsched.group @dp size(4)

// Bytes: 6 bf16, one f32, 3 bytes of i1 and 2 of i12, which are padded, and 2 i8 of a
// tensor of that element type. Without a list, elements are converted, not packed.
func.func @legal(%a: tensor<2x3xbf16>, %b: tensor<f32>, %c: tensor<3xi1>, %d: tensor<1xi12>,
                 %e: tensor<2xi8>, %f: tensor<?xf32>, %g: tensor<5x3xbf16>, %h: tensor<4xf32>,
                 %z: tensor<4xcomplex<f32>>, %p: memref<?xf32>) {
  %slice, %buffer = commsched.all_gather_copy_in %a, %b, %c, %d, %e on @dp packed([bf16, f32, i1, i12, i8])
      : tensor<2x3xbf16>, tensor<f32>, tensor<3xi1>, tensor<1xi12>, tensor<2xi8> -> tensor<23xi8>, tensor<92xi8>
  %0:2 = commsched.split_with_sizes_copy %buffer on @dp : tensor<92xi8> -> tensor<4x17xi8>, tensor<4x3xf16>
  %slice1, %buffer1 = commsched.all_gather_copy_in %f, %e on @dp packed([f32, i8])
      : tensor<?xf32>, tensor<2xi8> -> tensor<?xi8>, tensor<?xi8>
  %1:2 = commsched.split_with_sizes_copy %buffer1 on @dp : tensor<?xi8> -> tensor<?xf32>, tensor<8xi8>
  %slice2, %buffer2 = commsched.all_gather_copy_in %h on @dp : tensor<4xf32> -> tensor<4xi8>, tensor<16xi8>
  // Five rows are padded to eight: two for each rank.
  %2 = commsched.chunk_cat %g, %h on @dp : tensor<5x3xbf16>, tensor<4xf32> -> tensor<28xf32>
  %3 = commsched.chunk_cat %e on @dp : tensor<2xi8> -> tensor<4xi32>
  %4 = commsched.chunk_cat %z on @dp : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f64>>
  commsched.resize_storage %p bytes(44) : memref<?xf32>
  commsched.resize_storage %p bytes(0) : memref<?xf32>
  return
}

// -----

func.func @row(%a: tensor<4xf32>, %buffer: tensor<8xf32>) {
  ROW
  return
}

// -----

$error('commsched.all_gather_copy_in' op names the group @dp, which does not exist (C1))
%slice, %buffer_0 = commsched.all_gather_copy_in %a on @dp : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
$error('commsched.split_with_sizes_copy' op names the group @dp, which does not exist (C1))
%0 = commsched.split_with_sizes_copy %buffer on @dp : tensor<8xf32> -> tensor<8xf32>
$error('commsched.chunk_cat' op names the group @dp, which does not exist (C1))
%0 = commsched.chunk_cat %buffer on @dp : tensor<8xf32> -> tensor<8xf32>

// -----

commsched.group @dp size(4)

func.func @row(
    %a: tensor<4xf32>, %buffer: tensor<8xf32>, %b: tensor<f32>,
    %t2x2xf32: tensor<2x2xf32>, %tbf16: tensor<bf16>, %t8xi8: tensor<8xi8>,
    %t8xui8: tensor<8xui8>, %t8xf16: tensor<8xf16>,
    %t8xcomplex_f64: tensor<8xcomplex<f64>>,
    %t9223372036854775807xf32: tensor<9223372036854775807xf32>) {
  ROW
  return
}

// -----

$error('commsched.all_gather_copy_in' op needs at least one operand (C2))
%slice, %buffer_0 = "commsched.all_gather_copy_in"() <{group = @dp}> : () -> (tensor<0xf32>, tensor<0xf32>)
$error('commsched.all_gather_copy_in' op the slice must have one dimension, but is a 'tensor<2x2xf32>' (C3))
%slice, %buffer_0 = commsched.all_gather_copy_in %a on @dp : tensor<4xf32> -> tensor<2x2xf32>, tensor<16xf32>
$error('commsched.all_gather_copy_in' op the buffer must have one dimension, but is a 'tensor<f32>' (C3))
%slice, %buffer_0 = commsched.all_gather_copy_in %b on @dp : tensor<f32> -> tensor<1xf32>, tensor<f32>
$error('commsched.all_gather_copy_in' op slice has element type 'f32', but the buffer 'bf16' (C3))
%slice, %buffer_0 = commsched.all_gather_copy_in %a on @dp : tensor<4xf32> -> tensor<4xf32>, tensor<16xbf16>
$error('commsched.all_gather_copy_in' op operands have 5 elements together, but the slice has 4 (C4))
%slice, %buffer_0 = commsched.all_gather_copy_in %t2x2xf32, %b on @dp : tensor<2x2xf32>, tensor<f32> -> tensor<4xf32>, tensor<16xf32>
$error('commsched.all_gather_copy_in' op has 1 operand(s), but 'packed' has 2 element type(s) (C6))
%slice, %buffer_0 = commsched.all_gather_copy_in %a on @dp packed([f32, f32]) : tensor<4xf32> -> tensor<16xi8>, tensor<64xi8>
$error('commsched.all_gather_copy_in' op 'packed' has 'tensor<f32>', whose size in bytes is not known (C6))
%slice, %buffer_0 = commsched.all_gather_copy_in %a on @dp packed([tensor<f32>]) : tensor<4xf32> -> tensor<16xi8>, tensor<64xi8>
$error('commsched.all_gather_copy_in' op 'packed' has 'vector<[2]xf32>', whose size in bytes is not known (C6))
%slice, %buffer_0 = commsched.all_gather_copy_in %a on @dp packed([vector<[2]xf32>]) : tensor<4xf32> -> tensor<16xi8>, tensor<64xi8>
$error('commsched.all_gather_copy_in' op packs bytes, so the slice must have element type i8, not 'f32' (C7))
%slice, %buffer_0 = commsched.all_gather_copy_in %a on @dp packed([f32]) : tensor<4xf32> -> tensor<4xf32>, tensor<16xf32>
$error('commsched.all_gather_copy_in' op operands have 18 bytes together, but the slice has 20 (C7))
%slice, %buffer_0 = commsched.all_gather_copy_in %a, %tbf16 on @dp packed([f32, bf16]) : tensor<4xf32>, tensor<bf16> -> tensor<20xi8>, tensor<80xi8>
$error('commsched.split_with_sizes_copy' op needs at least one result (C2))
"commsched.split_with_sizes_copy"(%buffer) <{group = @dp}> : (tensor<8xf32>) -> ()
$error('commsched.split_with_sizes_copy' op result 1 has element type 'bf16', but the operand 'f32' (C3))
%0:2 = commsched.split_with_sizes_copy %buffer on @dp : tensor<8xf32> -> tensor<4xf32>, tensor<4xbf16>
$error('commsched.split_with_sizes_copy' op result 0 has element type 'vector<[2]xf32>', whose size in bytes is not known (C3))
%0:2 = commsched.split_with_sizes_copy %t8xi8 on @dp : tensor<8xi8> -> tensor<4xvector<[2]xf32>>, tensor<4xbf16>
$error('commsched.split_with_sizes_copy' op result 0 has element type 'bf16', but the operand 'ui8' (C3))
%0 = commsched.split_with_sizes_copy %t8xui8 on @dp : tensor<8xui8> -> tensor<4xbf16>
$error('commsched.split_with_sizes_copy' op operand has 8 bytes, but the results together 12 (C4))
%0:2 = commsched.split_with_sizes_copy %t8xi8 on @dp : tensor<8xi8> -> tensor<4xi8>, tensor<4xbf16>
$error('commsched.split_with_sizes_copy' op operand has 8 elements, but the results together 12 (C4))
%0:2 = commsched.split_with_sizes_copy %buffer on @dp : tensor<8xf32> -> tensor<4xf32>, tensor<8xf32>
$error('commsched.chunk_cat' op needs at least one operand (C2))
%0 = "commsched.chunk_cat"() <{group = @dp}> : () -> tensor<0xf32>
$error('commsched.chunk_cat' op operand 0 is a 'tensor<f32>', which has no dimension 0 (C2))
%0 = commsched.chunk_cat %b on @dp : tensor<f32> -> tensor<4xf32>
$error('commsched.chunk_cat' op operand 0 has element type 'f32', which cannot be widened to 'bf16' (C3))
%0 = commsched.chunk_cat %buffer on @dp : tensor<8xf32> -> tensor<8xbf16>
$error('commsched.chunk_cat' op operand 0 has element type 'i8', which cannot be widened to 'f32' (C3))
%0 = commsched.chunk_cat %t8xi8 on @dp : tensor<8xi8> -> tensor<8xf32>
$error('commsched.chunk_cat' op operand 0 has element type 'f16', which cannot be widened to 'bf16' (C3))
%0 = commsched.chunk_cat %t8xf16 on @dp : tensor<8xf16> -> tensor<8xbf16>
$error('commsched.chunk_cat' op operand 0 has element type 'complex<f64>', which cannot be widened to 'complex<f32>' (C3))
%0 = commsched.chunk_cat %t8xcomplex_f64 on @dp : tensor<8xcomplex<f64>> -> tensor<8xcomplex<f32>>
$error('commsched.chunk_cat' op the result must have one dimension, but is a 'tensor<2x4xf32>' (C4))
%0 = commsched.chunk_cat %buffer on @dp : tensor<8xf32> -> tensor<2x4xf32>
$error('commsched.chunk_cat' op operands overflow when padded (C5))
%0 = commsched.chunk_cat %t9223372036854775807xf32 on @dp : tensor<9223372036854775807xf32> -> tensor<15xf32>

// -----

// expected-note@below {{the group is declared here}}
commsched.group @dp size(4)
func.func @row(%a: tensor<4xf32>, %one: tensor<1xf32>, %buffer: tensor<12xf32>, %rows: tensor<5x3xf32>) {
  ROW
  return
}

// -----

$error('commsched.all_gather_copy_in' op slice has 4 elements, so the buffer must have 4 times as many, not 12 (C5))
%slice, %b = commsched.all_gather_copy_in %a on @dp : tensor<4xf32> -> tensor<4xf32>, tensor<12xf32>
$error('commsched.split_with_sizes_copy' op result 1 is a 'tensor<2x4xf32>', whose dimension 0 the group's size 4 does not divide (C5))
%0:2 = commsched.split_with_sizes_copy %buffer on @dp : tensor<12xf32> -> tensor<4xf32>, tensor<2x4xf32>
$error('commsched.split_with_sizes_copy' op result 0 is a 'tensor<f32>', whose dimension 0 the group's size 4 does not divide (C5))
%0 = commsched.split_with_sizes_copy %one on @dp : tensor<1xf32> -> tensor<f32>
$error('commsched.chunk_cat' op operands, padded to chunks for 4 ranks, have 24 elements together, but the result has 15 (C5))
%0 = commsched.chunk_cat %rows on @dp : tensor<5x3xf32> -> tensor<15xf32>

// -----

// expected-note@below {{the storage is defined here}}
func.func @row(%p: memref<2x3xbf16>, %d: memref<?xbf16>, %full: tensor<6xbf16>, %f32: tensor<2x3xf32>) {
  ROW
  return
}

// -----

$error('commsched.resize_storage' op bytes(11) must be 0 or the storage's 12 (C1))
commsched.resize_storage %p bytes(11) : memref<2x3xbf16>
$error('commsched.resize_storage' op bytes(-2) must be 0 or more (C1))
commsched.resize_storage %d bytes(-2) : memref<?xbf16>
$error('commsched.fsdp_copy' op copies a 'tensor<6xbf16>' into a 'memref<2x3xbf16>' (C1))
commsched.fsdp_copy %full into %p : tensor<6xbf16>, memref<2x3xbf16>
$error('commsched.fsdp_copy' op copies a 'tensor<2x3xf32>' into a 'memref<2x3xbf16>' (C1))
commsched.fsdp_copy %f32 into %p : tensor<2x3xf32>, memref<2x3xbf16>
