// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

commsched.group @dp size(8)

func.func @all_gather(%shard: tensor<2x4xf32>, %buffer: tensor<2x32xf32>) {
  %future = commsched.all_gather %shard on @dp dim(1) into %buffer
      : tensor<2x4xf32> into tensor<2x32xf32>
        -> !commsched.future<tensor<2x32xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<2x32xf32>>
  return
}

// -----

func.func @all_gather_c1_no_group(%shard: tensor<4xf32>) {
  // expected-error@below {{'commsched.all_gather' op names the group @dp, which does not exist (C1)}}
  %future = commsched.all_gather %shard on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<32xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<32xf32>>
  return
}

// -----

// expected-note@below {{the symbol is defined here}}
func.func private @dp()

func.func @all_gather_c1_not_a_group(%shard: tensor<4xf32>) {
  // expected-error@below {{'commsched.all_gather' op names @dp as its group, which is a 'func.func' (C1)}}
  %future = commsched.all_gather %shard on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<32xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<32xf32>>
  return
}

// -----

commsched.group @dp size(8)

func.func @row(
    %shard: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<32xf32>,
    %t32xf32: tensor<32xf32>, %tf32: tensor<f32>) {
  ROW
  return
}

// -----

// expected-error@below {{'commsched.all_gather' op needs at least one operand (C2)}}
%future = "commsched.all_gather"() <{dim = 0 : i64, group = @dp,
    operandSegmentSizes = array<i32: 0, 0>}> : () -> !commsched.future
commsched.wait %future : !commsched.future
// expected-error@below {{'commsched.all_gather' op has 2 operand(s) but delivers 1 value(s) (C2)}}
%future = commsched.all_gather %a, %shard on @dp dim(0)
    : tensor<4xf32>, tensor<4xf32> -> !commsched.future<tensor<32xf32>>
%full = commsched.wait %future : !commsched.future<tensor<32xf32>>
// expected-error@below {{'commsched.all_gather' op operand 1 has element type 'f32', but 'bf16' is delivered (C3)}}
%future = commsched.all_gather %a, %shard on @dp dim(0)
    : tensor<4xf32>, tensor<4xf32>
      -> !commsched.future<tensor<32xf32>, tensor<32xbf16>>
%full:2 = commsched.wait %future
    : !commsched.future<tensor<32xf32>, tensor<32xbf16>>
// expected-error@below {{'commsched.all_gather' op operand 0 has rank 1, but rank 2 is delivered (C3)}}
%future = commsched.all_gather %shard on @dp dim(0)
    : tensor<4xf32> -> !commsched.future<tensor<8x4xf32>>
%full = commsched.wait %future : !commsched.future<tensor<8x4xf32>>
// expected-error@below {{'commsched.all_gather' op dim(1) is no dimension of operand 0, which has rank 1 (C4)}}
%future = commsched.all_gather %shard on @dp dim(1)
    : tensor<4xf32> -> !commsched.future<tensor<32xf32>>
%full = commsched.wait %future : !commsched.future<tensor<32xf32>>
// expected-error@below {{'commsched.all_gather' op dim(-1) is no dimension of operand 0, which has rank 1 (C4)}}
%future = commsched.all_gather %shard on @dp dim(-1)
    : tensor<4xf32> -> !commsched.future<tensor<32xf32>>
%full = commsched.wait %future : !commsched.future<tensor<32xf32>>
// expected-error@below {{'commsched.all_gather' op dim(0) is no dimension of operand 0, which has rank 0 (C4)}}
%future = commsched.all_gather %tf32 on @dp dim(0)
    : tensor<f32> -> !commsched.future<tensor<f32>>
%full = commsched.wait %future : !commsched.future<tensor<f32>>
// expected-error@below {{'commsched.all_gather' op writes into 2 buffer(s) but delivers 1 value(s) (C6)}}
%future = commsched.all_gather %shard on @dp dim(0) into %t32xf32, %b
    : tensor<4xf32> into tensor<32xf32>, tensor<32xf32>
      -> !commsched.future<tensor<32xf32>>
%full = commsched.wait %future : !commsched.future<tensor<32xf32>>

// -----

// expected-note@below {{group @dp of size 8 is declared here}}
commsched.group @dp size(8)
ROW

// -----

func.func @all_gather_c5(%shard: tensor<4xf32>) {
  // expected-error@below {{'commsched.all_gather' op dimension 0 of operand 0 has size 4, so 32 must be delivered, not 16 (C5)}}
  %future = commsched.all_gather %shard on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<16xf32>>
  return
}

func.func @all_gather_c5_other_dimension(%shard: tensor<4x6xf32>) {
  // expected-error@below {{'commsched.all_gather' op dimension 1 of operand 0 has size 6, so 6 must be delivered, not 48 (C5)}}
  %future = commsched.all_gather %shard on @dp dim(0)
      : tensor<4x6xf32> -> !commsched.future<tensor<32x48xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<32x48xf32>>
  return
}

func.func @all_gather_c5_overflow(%shard: tensor<4611686018427387904xi8>) {
  // expected-error@below {{'commsched.all_gather' op dimension 0 of operand 0 of size 4611686018427387904 overflows when gathered (C5)}}
  %future = commsched.all_gather %shard on @dp dim(0)
      : tensor<4611686018427387904xi8> -> !commsched.future<tensor<8xi8>>
  %full = commsched.wait %future : !commsched.future<tensor<8xi8>>
  return
}

// -----

commsched.group @dp size(8)

// expected-note@below {{the buffer is defined here}}
func.func @all_gather_c6_type(%shard: tensor<4xf32>, %buffer: tensor<16xf32>) {
  // expected-error@below {{'commsched.all_gather' op 'into' buffer 0 is a 'tensor<16xf32>', but a 'tensor<32xf32>' is delivered (C6)}}
  %future = commsched.all_gather %shard on @dp dim(0) into %buffer
      : tensor<4xf32> into tensor<16xf32> -> !commsched.future<tensor<32xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<32xf32>>
  return
}
