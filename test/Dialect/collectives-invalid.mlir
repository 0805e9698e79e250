// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

LET $start(OP -> T) %f = commsched.OP -> !commsched.future<T>
  %w = commsched.wait %f : !commsched.future<T>
LET $two(OP -> T) %f = commsched.OP -> !commsched.future<T>
  %w:2 = commsched.wait %f : !commsched.future<T>
LET $lists tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
LET $none(OP) %f = commsched.OP -> !commsched.future
  commsched.wait %f : !commsched.future

commsched.group @g size(4)

// What is at the edge of what is legal.
func.func @legal(%f: tensor<8xf32>, %i: tensor<4xi32>, %c: tensor<4xcomplex<f32>>,
                 %x: tensor<?x16xf32>, %a: tensor<4xi64>, %s: tensor<?xi32>,
                 %b: tensor<12x?xf32>) {
  $run(%v1 = reduce_scatter %i on @g reduction(bxor) dim(0) : tensor<4xi32> -> tensor<1xi32>)
  $run(%v3 = all_reduce %c on @g reduction(avg) : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>)
  $run(%v5 = broadcast %f on @g root(3) : tensor<8xf32> -> tensor<8xf32>)
  $run(%v7 = permute %f on @g pairs(dense<[[0, 1], [1, 0], [3, 3]]> : tensor<3x2xi64>) : tensor<8xf32> -> tensor<8xf32>)
  $run(%v9 = all_to_all %f on @g split_dim(0) concat_dim(0) output_splits([0, 1, 2, 3])
      : tensor<8xf32> -> tensor<6xf32>)
  $run(%v11 = ragged_all_to_all %x on @g send(%a, %s) at(%a) receive(%s) into %b
      : tensor<?x16xf32>, tensor<4xi64>, tensor<?xi32>, tensor<4xi64>, tensor<?xi32>
      into tensor<12x?xf32> -> tensor<12x?xf32>)
  return
}

// -----

// Groups that do not exist.
func.func @row(%x: tensor<4xf32>, %l: tensor<4xi32>) {
  ROW
  return
}

// -----

$error('commsched.all_gather' op names the group @dp, which does not exist (C1))
$start(all_gather %x on @dp dim(0) : tensor<4xf32> -> tensor<8xf32>)
$error('commsched.reduce_scatter' op names the group @dp, which does not exist (C1))
$start(reduce_scatter %x on @dp reduction(sum) dim(0) : tensor<4xf32> -> tensor<2xf32>)
$error('commsched.all_reduce' op names the group @dp, which does not exist (C1))
$start(all_reduce %x on @dp reduction(sum) : tensor<4xf32> -> tensor<4xf32>)
$error('commsched.all_to_all' op names the group @dp, which does not exist (C1))
$start(all_to_all %x on @dp split_dim(0) concat_dim(0) : tensor<4xf32> -> tensor<4xf32>)
$error('commsched.ragged_all_to_all' op names the group @dp, which does not exist (C1))
$start(ragged_all_to_all %x on @dp send(%l, %l) at(%l) receive(%l) into %x : tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32> into tensor<4xf32> -> tensor<4xf32>)
$error('commsched.broadcast' op names the group @dp, which does not exist (C1))
$start(broadcast %x on @dp root(0) : tensor<4xf32> -> tensor<4xf32>)
$error('commsched.permute' op names the group @dp, which does not exist (C1))
$start(permute %x on @dp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : tensor<4xf32> -> tensor<4xf32>)
$error('commsched.send' op names the group @dp, which does not exist (C1))
$none(send %x on @dp to(1) : tensor<4xf32>)
$error('commsched.recv' op names the group @dp, which does not exist (C1))
%f = commsched.recv on @dp from(1) : !commsched.future<tensor<4xf32>>
%w = commsched.wait %f : !commsched.future<tensor<4xf32>>

// -----

commsched.group @g size(2)
// expected-note@below {{the symbol is defined here}}
func.func private @dp()

func.func @not_a_group(%x: tensor<4xf32>) {
  $error('commsched.all_gather' op names @dp as its group, which is a 'func.func' (C1))
  $start(all_gather %x on @dp dim(0) : tensor<4xf32> -> tensor<8xf32>)
  return
}

// -----

commsched.group @g size(2)

func.func @row(%v0: tensor<f32>, %v4: tensor<4xf32>, %v8: tensor<8xf32>, %b: tensor<8xbf16>,
               %f8: tensor<8xf8E4M3FN>, %i: tensor<8xi32>, %c: tensor<8xcomplex<f32>>,
               %m: tensor<10x16xf32>, %into: tensor<12x16xf32>, %s: tensor<2xi64>,
               %l: tensor<4xi32>, %l2: tensor<2xi32>, %any: tensor<?xi32>,
               %square: tensor<2x2xi32>) {
  ROW
  return
}

// -----

$error('commsched.all_gather' op needs at least one operand (C2))
%f = "commsched.all_gather"() <{dim = 0 : i64, group = @g, operandSegmentSizes = array<i32: 0, 0>}> : () -> !commsched.future
commsched.wait %f : !commsched.future
$error('commsched.all_gather' op has 2 operand(s) but delivers 1 value(s) (C2))
$start(all_gather %v4, %v4 on @g dim(0) : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>)
$error('commsched.all_gather' op operand 1 has element type 'f32', but 'bf16' is delivered (C3))
$two(all_gather %v4, %v4 on @g dim(0) : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>, tensor<8xbf16>)
$error('commsched.all_gather' op operand 0 has rank 1, but rank 2 is delivered (C3))
$start(all_gather %v4 on @g dim(0) : tensor<4xf32> -> tensor<2x4xf32>)
$error('commsched.all_gather' op dim(1) is no dimension of operand 0, which has rank 1 (C4))
$start(all_gather %v4 on @g dim(1) : tensor<4xf32> -> tensor<8xf32>)
$error('commsched.all_gather' op dim(-1) is no dimension of operand 0, which has rank 1 (C4))
$start(all_gather %v4 on @g dim(-1) : tensor<4xf32> -> tensor<8xf32>)
$error('commsched.all_gather' op dim(0) is no dimension of operand 0, which has rank 0 (C4))
$start(all_gather %v0 on @g dim(0) : tensor<f32> -> tensor<f32>)
$error('commsched.all_gather' op writes into 2 buffer(s) but delivers 1 value(s) (C6))
$start(all_gather %v4 on @g dim(0) into %v8, %v8 : tensor<4xf32> into tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>)

$error('commsched.reduce_scatter' op has 1 operand(s) but delivers 0 value(s) (C2))
$none(reduce_scatter %v8 on @g reduction(sum) dim(0) : tensor<8xf32>)
$error('commsched.reduce_scatter' op operand 0 has element type 'bf16', but 'f32' is delivered (C3))
$start(reduce_scatter %b on @g reduction(sum) dim(0) : tensor<8xbf16> -> tensor<4xf32>)
$error('commsched.reduce_scatter' op dim(2) is no dimension of operand 0, which has rank 1 (C4))
$start(reduce_scatter %v8 on @g reduction(sum) dim(2) : tensor<8xf32> -> tensor<4xf32>)
$error('commsched.reduce_scatter' op reduction(avg) is not defined for the element type 'i32' of operand 0 (C7))
$start(reduce_scatter %i on @g reduction(avg) dim(0) : tensor<8xi32> -> tensor<4xi32>)
$error('commsched.reduce_scatter' op reduction(band) is not defined for the element type 'f32' of operand 1 (C7))
$two(reduce_scatter %i, %v8 on @g reduction(band) dim(0) : tensor<8xi32>, tensor<8xf32> -> tensor<4xi32>, tensor<4xf32>)
$error('commsched.reduce_scatter' op reduction(min) is not defined for the element type 'complex<f32>' of operand 0 (C7))
$start(reduce_scatter %c on @g reduction(min) dim(0) : tensor<8xcomplex<f32>> -> tensor<4xcomplex<f32>>)
$error(expected string or keyword containing one of the following enum values for attribute 'reduction' [sum, avg, prod, min, max, band, bor, bxor])
$start(reduce_scatter %v8 on @g reduction(median) dim(0) : tensor<8xf32> -> tensor<4xf32>)

$error('commsched.all_reduce' op has 1 operand(s) but delivers 2 value(s) (C2))
$two(all_reduce %v8 on @g reduction(sum) : tensor<8xf32> -> tensor<8xf32>, tensor<8xf32>)
$error('commsched.all_reduce' op operand 0 is a 'tensor<8xf32>', but a 'tensor<12xf32>' is delivered (C3))
$start(all_reduce %v8 on @g reduction(sum) : tensor<8xf32> -> tensor<12xf32>)
$error('commsched.all_reduce' op reduction(bor) is not defined for the element type 'f8E4M3FN' of operand 0 (C5))
$start(all_reduce %f8 on @g reduction(bor) : tensor<8xf8E4M3FN> -> tensor<8xf8E4M3FN>)

$error('commsched.all_to_all' op has 2 operand(s) but delivers 1 value(s) (C2))
$start(all_to_all %v8, %v8 on @g split_dim(0) concat_dim(0) : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>)
$error('commsched.all_to_all' op operand 0 has element type 'f32', but 'i32' is delivered (C3))
$start(all_to_all %v8 on @g split_dim(0) concat_dim(0) : tensor<8xf32> -> tensor<8xi32>)
$error('commsched.all_to_all' op split_dim(1) is no dimension of operand 0, which has rank 1 (C4))
$start(all_to_all %v8 on @g split_dim(1) concat_dim(0) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.all_to_all' op concat_dim(-3) is no dimension of operand 0, which has rank 1 (C4))
$start(all_to_all %v8 on @g split_dim(0) concat_dim(-3) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.all_to_all' op has splits, so split_dim(0) and concat_dim(1) must be equal (C6))
$start(all_to_all %m on @g split_dim(0) concat_dim(1) input_splits([4, 6]) : tensor<10x16xf32> -> tensor<5x32xf32>)
$error('commsched.all_to_all' op has splits, so split_dim(0) and concat_dim(1) must be equal (C6))
$start(all_to_all %m on @g split_dim(0) concat_dim(1) input_splits(%s : tensor<2xi64>) : tensor<10x16xf32> -> tensor<?x16xf32>)
$error('commsched.all_to_all' op 'output_splits' has the negative entry -2 (C6))
$start(all_to_all %v8 on @g split_dim(0) concat_dim(0) input_splits([4, 4]) output_splits([14, -2]) : tensor<8xf32> -> tensor<12xf32>)
$error('commsched.all_to_all' op 'input_splits' adds up to 9, but the operand's size is 8 (C6))
$start(all_to_all %v8 on @g split_dim(0) concat_dim(0) input_splits([4, 5]) output_splits([6, 6]) : tensor<8xf32> -> tensor<12xf32>)
$error('commsched.all_to_all' op 'output_splits' adds up to 12, but the delivered size is 8 (C6))
$start(all_to_all %v8 on @g split_dim(0) concat_dim(0) input_splits([4, 4]) output_splits([6, 6]) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.all_to_all' op 'input_splits' overflows when added up (C6))
$start(all_to_all %v8 on @g split_dim(0) concat_dim(0) input_splits([9223372036854775807, 9223372036854775807]) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.all_to_all' op dimension 1 of operand 0 has size 16, but 8 is delivered (C6))
$start(all_to_all %m on @g split_dim(0) concat_dim(0) input_splits([4, 6]) : tensor<10x16xf32> -> tensor<10x8xf32>)
$error('commsched.all_to_all' op dimension 1 of operand 0 has size 16, but 8 is delivered (C6))
$start(all_to_all %m on @g split_dim(0) concat_dim(0) output_splits(%s : tensor<2xi64>) : tensor<10x16xf32> -> tensor<?x8xf32>)
$error('commsched.all_to_all' op has splits that are values, so split_dim(1) must be 0 (C8))
$start(all_to_all %m on @g split_dim(1) concat_dim(1) output_splits(%s : tensor<2xi64>) : tensor<10x16xf32> -> tensor<10x?xf32>)
$error('commsched.all_to_all' op 'input_splits' is both a list and a value (C8))
%f = "commsched.all_to_all"(%m, %s) <{group = @g, split_dim = 0, concat_dim = 0, input_splits = array<i64: 4, 6>,
    operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : (tensor<10x16xf32>, tensor<2xi64>) -> !commsched.future<tensor<?x16xf32>>
%w = commsched.wait %f : !commsched.future<tensor<?x16xf32>>

$error('commsched.ragged_all_to_all' op the operand is a 'tensor<f32>', which has no rows (C3))
$start(ragged_all_to_all %v0 on @g send(%l, %l) at(%l) receive(%l) into %v0 : tensor<f32>, $lists into tensor<f32> -> tensor<f32>)
$error('commsched.ragged_all_to_all' op 'send_sizes' is a 'tensor<8xf32>', not a tensor of one dimension and integers (C4))
$start(ragged_all_to_all %m on @g send(%l, %v8) at(%l) receive(%l) into %into : tensor<10x16xf32>, tensor<4xi32>, tensor<8xf32>, tensor<4xi32>, tensor<4xi32> into tensor<12x16xf32> -> tensor<12x16xf32>)
$error('commsched.ragged_all_to_all' op 'recv_sizes' is a 'tensor<2x2xi32>', not a tensor of one dimension and integers (C4))
$start(ragged_all_to_all %m on @g send(%l, %l) at(%l) receive(%square) into %into : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<2x2xi32> into tensor<12x16xf32> -> tensor<12x16xf32>)
$error('commsched.ragged_all_to_all' op 'output_offsets' has 2 entries, but 'send_sizes' has 4 (C5))
$start(ragged_all_to_all %m on @g send(%any, %l) at(%l2) receive(%l) into %into : tensor<10x16xf32>, tensor<?xi32>, tensor<4xi32>, tensor<2xi32>, tensor<4xi32> into tensor<12x16xf32> -> tensor<12x16xf32>)

$error('commsched.broadcast' op has 1 operand(s) but delivers 0 value(s) (C2))
$none(broadcast %v8 on @g root(0) : tensor<8xf32>)
$error('commsched.broadcast' op operand 0 is a 'tensor<8xf32>', but a 'tensor<?xf32>' is delivered (C3))
$start(broadcast %v8 on @g root(0) : tensor<8xf32> -> tensor<?xf32>)

$error('commsched.permute' op has 1 operand(s) but delivers 2 value(s) (C2))
$two(permute %v8 on @g pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : tensor<8xf32> -> tensor<8xf32>, tensor<8xf32>)
$error('commsched.permute' op operand 0 is a 'tensor<8xf32>', but a 'tensor<8xf64>' is delivered (C3))
$start(permute %v8 on @g pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : tensor<8xf32> -> tensor<8xf64>)
$error('commsched.permute' op 'pairs' must have the shape Nx2, not 'tensor<1x3xi64>' (C4))
$start(permute %v8 on @g pairs(dense<[[0, 1, 2]]> : tensor<1x3xi64>) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.permute' op 'pairs' must have the shape Nx2, not 'tensor<2xi64>' (C4))
$start(permute %v8 on @g pairs(dense<[0, 1]> : tensor<2xi64>) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.permute' op 'pairs' repeats the target 2 (C6))
$start(permute %v8 on @g pairs(dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.permute' op 'pairs' repeats the source 0 (C6))
$start(permute %v8 on @g pairs(dense<[[0, 2], [0, 1]]> : tensor<2x2xi64>) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.permute' op writes into 2 buffer(s) but delivers 1 value(s) (C7))
$start(permute %v8 on @g pairs(dense<[[0, 1]]> : tensor<1x2xi64>) into %v8, %v8 : tensor<8xf32> into tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>)

$error('commsched.send' op needs at least one operand (C2))
%f = "commsched.send"() <{group = @g, to = 1 : i64}> : () -> !commsched.future
commsched.wait %f : !commsched.future
$error('commsched.send' op delivers nothing, but its future holds 1 type(s) (C2))
$start(send %v8 on @g to(1) : tensor<8xf32> -> tensor<8xf32>)
$error('commsched.send' op tag(-7) is negative (C4))
$none(send %v8 on @g to(1) tag(-7) : tensor<8xf32>)
$error('commsched.recv' op must deliver at least one value (C2))
%f = commsched.recv on @g from(1) : !commsched.future
commsched.wait %f : !commsched.future
$error('commsched.recv' op tag(-1) is negative (C4))
%f = commsched.recv on @g from(1) tag(-1) : !commsched.future<tensor<8xf32>>
%w = commsched.wait %f : !commsched.future<tensor<8xf32>>

// -----

// What is wrong for a group of this size.

// expected-note@below {{the group is declared here}}
commsched.group @g size(2)

func.func @row(%x: tensor<3xf32>) {
  ROW
  return
}

// -----

$error('commsched.broadcast' op root(2) is no rank of group @g, which has 2 (C4))
$start(broadcast %x on @g root(2) : tensor<3xf32> -> tensor<3xf32>)
$error('commsched.broadcast' op root(-1) is no rank of group @g, which has 2 (C4))
$start(broadcast %x on @g root(-1) : tensor<3xf32> -> tensor<3xf32>)
$error('commsched.permute' op pairs' source (4) is no rank of group @g, which has 2 (C5))
$start(permute %x on @g pairs(dense<[[0, 1], [4, 0]]> : tensor<2x2xi64>) : tensor<3xf32> -> tensor<3xf32>)
$error('commsched.permute' op pairs' target (-1) is no rank of group @g, which has 2 (C5))
$start(permute %x on @g pairs(dense<[[0, -1]]> : tensor<1x2xi64>) : tensor<3xf32> -> tensor<3xf32>)
$error('commsched.send' op to(2) is no rank of group @g, which has 2 (C3))
$none(send %x on @g to(2) : tensor<3xf32>)
$error('commsched.recv' op from(-1) is no rank of group @g, which has 2 (C3))
%f = commsched.recv on @g from(-1) : !commsched.future<tensor<3xf32>>
%w = commsched.wait %f : !commsched.future<tensor<3xf32>>

// -----

// expected-note@below {{group @g of size 2 is declared here}}
commsched.group @g size(2)

func.func @row(%v4: tensor<4xf32>, %v7: tensor<7xf32>, %huge: tensor<4611686018427387904xi8>,
               %m: tensor<10x16xf32>, %s3: tensor<3xi64>, %s32: tensor<2xi32>,
               %into: tensor<12x16xf32>, %l: tensor<3xi32>) {
  ROW
  return
}

// -----

$error('commsched.all_gather' op dimension 0 of operand 0 has size 4, so 8 must be delivered, not 16 (C5))
$start(all_gather %v4 on @g dim(0) : tensor<4xf32> -> tensor<16xf32>)
$error('commsched.all_gather' op dimension 1 of operand 0 has size 16, so 16 must be delivered, not 48 (C5))
$start(all_gather %m on @g dim(0) : tensor<10x16xf32> -> tensor<20x48xf32>)
$error('commsched.all_gather' op dimension 0 of operand 0 of size 4611686018427387904 overflows when gathered (C5))
$start(all_gather %huge on @g dim(0) : tensor<4611686018427387904xi8> -> tensor<8xi8>)
$error('commsched.reduce_scatter' op dimension 0 of operand 0 has size 7, which the group's size 2 does not divide (C5))
$start(reduce_scatter %v7 on @g reduction(sum) dim(0) : tensor<7xf32> -> tensor<2xf32>)
$error('commsched.reduce_scatter' op dimension 0 of operand 0 has size 4, so 2 must be delivered, not 4 (C5))
$start(reduce_scatter %v4 on @g reduction(sum) dim(0) : tensor<4xf32> -> tensor<4xf32>)
$error('commsched.all_to_all' op dimension 0 of operand 0 has size 7, which the group's size 2 does not divide (C5))
$start(all_to_all %v7 on @g split_dim(0) concat_dim(0) : tensor<7xf32> -> tensor<7xf32>)
$error('commsched.all_to_all' op dimension 1 of operand 0 has size 16, so 32 must be delivered, not 16 (C5))
$start(all_to_all %m on @g split_dim(0) concat_dim(1) : tensor<10x16xf32> -> tensor<5x16xf32>)
$error('commsched.all_to_all' op dimension 1 of operand 0 has size 16, so 16 must be delivered, not 8 (C5))
$start(all_to_all %m on @g split_dim(0) concat_dim(0) : tensor<10x16xf32> -> tensor<10x8xf32>)
$error('commsched.all_to_all' op 'input_splits' has 3 entries for a group of 2 ranks (C6))
$start(all_to_all %v4 on @g split_dim(0) concat_dim(0) input_splits([2, 1, 1]) output_splits([6, 6]) : tensor<4xf32> -> tensor<12xf32>)
$error('commsched.all_to_all' op has no 'output_splits', and the group's size 2 does not divide the delivered size 9 (C6))
$start(all_to_all %v4 on @g split_dim(0) concat_dim(0) input_splits([1, 3]) : tensor<4xf32> -> tensor<9xf32>)
$error('commsched.all_to_all' op 'input_splits' is a 'tensor<3xi64>', but a group of 2 ranks has splits of type 'tensor<2xi64>' (C8))
$start(all_to_all %m on @g split_dim(0) concat_dim(0) input_splits(%s3 : tensor<3xi64>) : tensor<10x16xf32> -> tensor<?x16xf32>)
$error('commsched.all_to_all' op 'output_splits' is a 'tensor<2xi32>', but a group of 2 ranks has splits of type 'tensor<2xi64>' (C8))
$start(all_to_all %m on @g split_dim(0) concat_dim(0) output_splits(%s32 : tensor<2xi32>) : tensor<10x16xf32> -> tensor<?x16xf32>)
$error('commsched.ragged_all_to_all' op 'input_offsets' has 3 entries, which the group's size 2 does not divide (C5))
$start(ragged_all_to_all %m on @g send(%l, %l) at(%l) receive(%l) into %into : tensor<10x16xf32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32> into tensor<12x16xf32> -> tensor<12x16xf32>)

// -----

commsched.group @g size(2)

// expected-note@below {{the buffer is defined here}}
func.func @row(%x: tensor<4xf32>, %m: tensor<10x16xf32>, %l: tensor<4xi32>, %v5: tensor<5xf32>, %v16: tensor<4xf16>, %v12: tensor<12x16xf32>, %half: tensor<12x16xf16>, %narrow: tensor<10x8xf32>) {
  ROW
  return
}

// -----

$error('commsched.all_gather' op 'into' buffer 0 is a 'tensor<5xf32>', but a 'tensor<8xf32>' is delivered (C6))
$start(all_gather %x on @g dim(0) into %v5 : tensor<4xf32> into tensor<5xf32> -> tensor<8xf32>)
$error('commsched.reduce_scatter' op 'into' buffer 0 is a 'tensor<4xf16>', but a 'tensor<2xf32>' is delivered (C6))
$start(reduce_scatter %x on @g reduction(sum) dim(0) into %v16 : tensor<4xf32> into tensor<4xf16> -> tensor<2xf32>)
$error('commsched.all_reduce' op 'into' buffer 0 is a 'tensor<10x16xf32>', but a 'tensor<4xf32>' is delivered (C4))
$start(all_reduce %x on @g reduction(sum) into %m : tensor<4xf32> into tensor<10x16xf32> -> tensor<4xf32>)
$error('commsched.all_to_all' op 'into' buffer 0 is a 'tensor<5xf32>', but a 'tensor<4xf32>' is delivered (C7))
$start(all_to_all %x on @g split_dim(0) concat_dim(0) into %v5 : tensor<4xf32> into tensor<5xf32> -> tensor<4xf32>)
$error('commsched.broadcast' op 'into' buffer 0 is a 'tensor<5xf32>', but a 'tensor<4xf32>' is delivered (C5))
$start(broadcast %x on @g root(0) into %v5 : tensor<4xf32> into tensor<5xf32> -> tensor<4xf32>)
$error('commsched.recv' op 'into' buffer 0 is a 'tensor<5xf32>', but a 'tensor<4xf32>' is delivered (C5))
$run(%w = recv on @g from(1) into %v5 : into tensor<5xf32> -> tensor<4xf32>)
$error('commsched.ragged_all_to_all' op writes into a 'tensor<12x16xf32>', but its future is a '!commsched.future<tensor<11x16xf32>>' (C2))
$start(ragged_all_to_all %m on @g send(%l, %l) at(%l) receive(%l) into %v12 : tensor<10x16xf32>, $lists into tensor<12x16xf32> -> tensor<11x16xf32>)
$error('commsched.ragged_all_to_all' op the operand is a 'tensor<10x16xf32>', but 'into' is a 'tensor<12x16xf16>': the element types must be equal (C3))
$start(ragged_all_to_all %m on @g send(%l, %l) at(%l) receive(%l) into %half : tensor<10x16xf32>, $lists into tensor<12x16xf16> -> tensor<12x16xf16>)
$error('commsched.ragged_all_to_all' op the operand is a 'tensor<10x16xf32>', but 'into' is a 'tensor<4xf32>': the ranks must be equal (C3))
$start(ragged_all_to_all %m on @g send(%l, %l) at(%l) receive(%l) into %x : tensor<10x16xf32>, $lists into tensor<4xf32> -> tensor<4xf32>)
$error('commsched.ragged_all_to_all' op the operand is a 'tensor<10x16xf32>', but 'into' is a 'tensor<10x8xf32>': only dimension 0 may differ (C3))
$start(ragged_all_to_all %m on @g send(%l, %l) at(%l) receive(%l) into %narrow : tensor<10x16xf32>, $lists into tensor<10x8xf32> -> tensor<10x8xf32>)
