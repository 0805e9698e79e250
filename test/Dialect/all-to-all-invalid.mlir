// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

commsched.group @ep size(2)

func.func @all_to_all(%x: tensor<10x16xf32>) {
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(1)
      : tensor<10x16xf32> -> !commsched.future<tensor<5x32xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<5x32xf32>>
  %2 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      input_splits([10, 0])
      : tensor<10x16xf32> -> !commsched.future<tensor<6x16xf32>>
  %3 = commsched.wait %2 : !commsched.future<tensor<6x16xf32>>
  %4 = commsched.all_to_all %x on @ep split_dim(1) concat_dim(1)
      output_splits([1, 2])
      : tensor<10x16xf32> -> !commsched.future<tensor<10x3xf32>>
  %5 = commsched.wait %4 : !commsched.future<tensor<10x3xf32>>
  return
}

// Splits that are values, on both sides or beside a list.
func.func @all_to_all_values(%x: tensor<10x16xf32>, %y: tensor<?x16xf32>,
                             %splits: tensor<2xi64>) {
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      input_splits(%splits : tensor<2xi64>)
      output_splits(%splits : tensor<2xi64>)
      : tensor<10x16xf32> -> !commsched.future<tensor<?x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<?x16xf32>>
  %2 = commsched.all_to_all %y on @ep split_dim(0) concat_dim(0)
      input_splits(%splits : tensor<2xi64>) output_splits([3, 4])
      : tensor<?x16xf32> -> !commsched.future<tensor<7x16xf32>>
  %3 = commsched.wait %2 : !commsched.future<tensor<7x16xf32>>
  return
}

// -----

func.func @all_to_all_c1(%x: tensor<10xf32>) {
  // expected-error@below {{'commsched.all_to_all' op names the group @ep, which does not exist (C1)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      : tensor<10xf32> -> !commsched.future<tensor<10xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<10xf32>>
  return
}

// -----

commsched.group @ep size(2)

func.func @row(
    %x: tensor<10xf32>, %splits: tensor<2xi64>, %t10x16xf32: tensor<10x16xf32>) {
  ROW
  return
}

// -----

// expected-error@below {{'commsched.all_to_all' op has 2 operand(s) but delivers 1 value(s) (C2)}}
%0 = commsched.all_to_all %x, %x on @ep split_dim(0) concat_dim(0)
    : tensor<10xf32>, tensor<10xf32> -> !commsched.future<tensor<10xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<10xf32>>
// expected-error@below {{'commsched.all_to_all' op operand 0 has element type 'f32', but 'i32' is delivered (C3)}}
%0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
    : tensor<10xf32> -> !commsched.future<tensor<10xi32>>
%1 = commsched.wait %0 : !commsched.future<tensor<10xi32>>
// expected-error@below {{'commsched.all_to_all' op split_dim(1) is no dimension of operand 0, which has rank 1 (C4)}}
%0 = commsched.all_to_all %x on @ep split_dim(1) concat_dim(0)
    : tensor<10xf32> -> !commsched.future<tensor<10xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<10xf32>>
// expected-error@below {{'commsched.all_to_all' op concat_dim(-3) is no dimension of operand 0, which has rank 1 (C4)}}
%0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(-3)
    : tensor<10xf32> -> !commsched.future<tensor<10xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<10xf32>>
// expected-error@below {{'commsched.all_to_all' op has splits, so split_dim(0) and concat_dim(1) must be equal (C6)}}
%0 = commsched.all_to_all %t10x16xf32 on @ep split_dim(0) concat_dim(1)
    input_splits([4, 6])
    : tensor<10x16xf32> -> !commsched.future<tensor<5x32xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<5x32xf32>>
// expected-error@below {{'commsched.all_to_all' op 'output_splits' has the negative entry -2 (C6)}}
%0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
    input_splits([4, 6]) output_splits([14, -2])
    : tensor<10xf32> -> !commsched.future<tensor<12xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<12xf32>>
// expected-error@below {{'commsched.all_to_all' op 'input_splits' adds up to 11, but the operand's size is 10 (C6)}}
%0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
    input_splits([4, 7]) output_splits([6, 6])
    : tensor<10xf32> -> !commsched.future<tensor<12xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<12xf32>>
// expected-error@below {{'commsched.all_to_all' op 'output_splits' adds up to 12, but the delivered size is 10 (C6)}}
%0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
    input_splits([4, 6]) output_splits([6, 6])
    : tensor<10xf32> -> !commsched.future<tensor<10xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<10xf32>>
// expected-error@below {{'commsched.all_to_all' op 'input_splits' overflows when added up (C6)}}
%0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
    input_splits([9223372036854775807, 9223372036854775807])
    : tensor<10xf32> -> !commsched.future<tensor<10xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<10xf32>>
// expected-error@below {{'commsched.all_to_all' op dimension 1 of operand 0 has size 16, but 8 is delivered (C6)}}
%0 = commsched.all_to_all %t10x16xf32 on @ep split_dim(0) concat_dim(0)
    input_splits([4, 6])
    : tensor<10x16xf32> -> !commsched.future<tensor<10x8xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<10x8xf32>>
// expected-error@below {{'commsched.all_to_all' op has splits, so split_dim(0) and concat_dim(1) must be equal (C6)}}
%0 = commsched.all_to_all %t10x16xf32 on @ep split_dim(0) concat_dim(1)
    input_splits(%splits : tensor<2xi64>)
    : tensor<10x16xf32> -> !commsched.future<tensor<?x16xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<?x16xf32>>
// expected-error@below {{'commsched.all_to_all' op dimension 1 of operand 0 has size 16, but 8 is delivered (C6)}}
%0 = commsched.all_to_all %t10x16xf32 on @ep split_dim(0) concat_dim(0)
    output_splits(%splits : tensor<2xi64>)
    : tensor<10x16xf32> -> !commsched.future<tensor<?x8xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<?x8xf32>>
// expected-error@below {{'commsched.all_to_all' op has splits that are values, so split_dim(1) must be 0 (C8)}}
%0 = commsched.all_to_all %t10x16xf32 on @ep split_dim(1) concat_dim(1)
    output_splits(%splits : tensor<2xi64>)
    : tensor<10x16xf32> -> !commsched.future<tensor<10x?xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<10x?xf32>>
// expected-error@below {{'commsched.all_to_all' op 'input_splits' is both a list and a value (C8)}}
%0 = "commsched.all_to_all"(%t10x16xf32, %splits) <{
    group = @ep, split_dim = 0, concat_dim = 0,
    input_splits = array<i64: 4, 6>,
    operandSegmentSizes = array<i32: 1, 0, 1, 0>}>
    : (tensor<10x16xf32>, tensor<2xi64>)
      -> !commsched.future<tensor<?x16xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<?x16xf32>>

// -----

// expected-note@below {{group @ep of size 2 is declared here}}
commsched.group @ep size(2)
ROW

// -----

func.func @all_to_all_c5_indivisible(%x: tensor<7xf32>) {
  // expected-error@below {{'commsched.all_to_all' op dimension 0 of operand 0 has size 7, which the group's size 2 does not divide (C5)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      : tensor<7xf32> -> !commsched.future<tensor<7xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<7xf32>>
  return
}

func.func @all_to_all_c5_concat(%x: tensor<10x16xf32>) {
  // expected-error@below {{'commsched.all_to_all' op dimension 1 of operand 0 has size 16, so 32 must be delivered, not 16 (C5)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(1)
      : tensor<10x16xf32> -> !commsched.future<tensor<5x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<5x16xf32>>
  return
}

func.func @all_to_all_c5_other_dimension(%x: tensor<10x16xf32>) {
  // expected-error@below {{'commsched.all_to_all' op dimension 1 of operand 0 has size 16, so 16 must be delivered, not 8 (C5)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      : tensor<10x16xf32> -> !commsched.future<tensor<10x8xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<10x8xf32>>
  return
}

func.func @all_to_all_c6_entries(%x: tensor<10xf32>) {
  // expected-error@below {{'commsched.all_to_all' op 'input_splits' has 3 entries for a group of 2 ranks (C6)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      input_splits([4, 5, 1]) output_splits([6, 6])
      : tensor<10xf32> -> !commsched.future<tensor<12xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<12xf32>>
  return
}

func.func @all_to_all_c6_even_side(%x: tensor<10xf32>) {
  // expected-error@below {{'commsched.all_to_all' op has no 'output_splits', and the group's size 2 does not divide the delivered size 9 (C6)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      input_splits([4, 6])
      : tensor<10xf32> -> !commsched.future<tensor<9xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<9xf32>>
  return
}

func.func @all_to_all_c8_size(%x: tensor<10x16xf32>, %splits: tensor<3xi64>) {
  // expected-error@below {{'commsched.all_to_all' op 'input_splits' is a 'tensor<3xi64>', but a group of 2 ranks has splits of type 'tensor<2xi64>' (C8)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      input_splits(%splits : tensor<3xi64>)
      : tensor<10x16xf32> -> !commsched.future<tensor<?x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<?x16xf32>>
  return
}

func.func @all_to_all_c8_element_type(%x: tensor<10x16xf32>, %splits: tensor<2xi32>) {
  // expected-error@below {{'commsched.all_to_all' op 'output_splits' is a 'tensor<2xi32>', but a group of 2 ranks has splits of type 'tensor<2xi64>' (C8)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
      output_splits(%splits : tensor<2xi32>)
      : tensor<10x16xf32> -> !commsched.future<tensor<?x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<?x16xf32>>
  return
}

// -----

commsched.group @ep size(2)

// expected-note@below {{the buffer is defined here}}
func.func @all_to_all_c7(%x: tensor<10xf32>, %buffer: tensor<12xf32>) {
  // expected-error@below {{'commsched.all_to_all' op 'into' buffer 0 is a 'tensor<12xf32>', but a 'tensor<10xf32>' is delivered (C7)}}
  %0 = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0) into %buffer
      : tensor<10xf32> into tensor<12xf32> -> !commsched.future<tensor<10xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<10xf32>>
  return
}
