// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

commsched.group @dp size(4)

func.func @reduce_scatter(%x: tensor<8x6xf32>, %i: tensor<4xi32>,
                          %c: tensor<4xcomplex<f32>>) {
  %0 = commsched.reduce_scatter %x on @dp reduction(max) dim(0)
      : tensor<8x6xf32> -> !commsched.future<tensor<2x6xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<2x6xf32>>
  %2 = commsched.reduce_scatter %i on @dp reduction(bxor) dim(0)
      : tensor<4xi32> -> !commsched.future<tensor<1xi32>>
  %3 = commsched.wait %2 : !commsched.future<tensor<1xi32>>
  %4 = commsched.reduce_scatter %c on @dp reduction(avg) dim(0)
      : tensor<4xcomplex<f32>> -> !commsched.future<tensor<1xcomplex<f32>>>
  %5 = commsched.wait %4 : !commsched.future<tensor<1xcomplex<f32>>>
  return
}

// -----

func.func @reduce_scatter_c1(%x: tensor<8xf32>) {
  // expected-error@below {{'commsched.reduce_scatter' op names the group @dp, which does not exist (C1)}}
  %0 = commsched.reduce_scatter %x on @dp reduction(sum) dim(0)
      : tensor<8xf32> -> !commsched.future<tensor<2xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<2xf32>>
  return
}

// -----

commsched.group @dp size(4)

func.func @row(
    %x: tensor<8xf32>, %a: tensor<8xi32>, %t8xbf16: tensor<8xbf16>,
    %t8xcomplex_f32: tensor<8xcomplex<f32>>) {
  ROW
  return
}

// -----

// expected-error@below {{'commsched.reduce_scatter' op has 1 operand(s) but delivers 0 value(s) (C2)}}
%0 = commsched.reduce_scatter %x on @dp reduction(sum) dim(0)
    : tensor<8xf32> -> !commsched.future
commsched.wait %0 : !commsched.future
// expected-error@below {{'commsched.reduce_scatter' op operand 0 has element type 'bf16', but 'f32' is delivered (C3)}}
%0 = commsched.reduce_scatter %t8xbf16 on @dp reduction(sum) dim(0)
    : tensor<8xbf16> -> !commsched.future<tensor<2xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<2xf32>>
// expected-error@below {{'commsched.reduce_scatter' op dim(2) is no dimension of operand 0, which has rank 1 (C4)}}
%0 = commsched.reduce_scatter %x on @dp reduction(sum) dim(2)
    : tensor<8xf32> -> !commsched.future<tensor<2xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<2xf32>>
// expected-error@below {{'commsched.reduce_scatter' op reduction(avg) is not defined for the element type 'i32' of operand 0 (C7)}}
%0 = commsched.reduce_scatter %a on @dp reduction(avg) dim(0)
    : tensor<8xi32> -> !commsched.future<tensor<2xi32>>
%1 = commsched.wait %0 : !commsched.future<tensor<2xi32>>
// expected-error@below {{'commsched.reduce_scatter' op reduction(band) is not defined for the element type 'f32' of operand 1 (C7)}}
%0 = commsched.reduce_scatter %a, %x on @dp reduction(band) dim(0)
    : tensor<8xi32>, tensor<8xf32>
      -> !commsched.future<tensor<2xi32>, tensor<2xf32>>
%1:2 = commsched.wait %0 : !commsched.future<tensor<2xi32>, tensor<2xf32>>
// expected-error@below {{'commsched.reduce_scatter' op reduction(min) is not defined for the element type 'complex<f32>' of operand 0 (C7)}}
%0 = commsched.reduce_scatter %t8xcomplex_f32 on @dp reduction(min) dim(0)
    : tensor<8xcomplex<f32>> -> !commsched.future<tensor<2xcomplex<f32>>>
%1 = commsched.wait %0 : !commsched.future<tensor<2xcomplex<f32>>>
// expected-error@below {{expected string or keyword containing one of the following enum values for attribute 'reduction' [sum, avg, prod, min, max, band, bor, bxor]}}
%0 = commsched.reduce_scatter %x on @dp reduction(median) dim(0)
    : tensor<8xf32> -> !commsched.future<tensor<2xf32>>

// -----

// expected-note@below {{group @dp of size 4 is declared here}}
commsched.group @dp size(4)
ROW

// -----

func.func @reduce_scatter_c5_indivisible(%x: tensor<10xf32>) {
  // expected-error@below {{'commsched.reduce_scatter' op dimension 0 of operand 0 has size 10, which the group's size 4 does not divide (C5)}}
  %0 = commsched.reduce_scatter %x on @dp reduction(sum) dim(0)
      : tensor<10xf32> -> !commsched.future<tensor<2xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<2xf32>>
  return
}

func.func @reduce_scatter_c5_size(%x: tensor<8xf32>) {
  // expected-error@below {{'commsched.reduce_scatter' op dimension 0 of operand 0 has size 8, so 2 must be delivered, not 4 (C5)}}
  %0 = commsched.reduce_scatter %x on @dp reduction(sum) dim(0)
      : tensor<8xf32> -> !commsched.future<tensor<4xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<4xf32>>
  return
}

// -----

commsched.group @dp size(4)

// expected-note@below {{the buffer is defined here}}
func.func @reduce_scatter_c6(%x: tensor<8xf32>, %buffer: tensor<2xf16>) {
  // expected-error@below {{'commsched.reduce_scatter' op 'into' buffer 0 is a 'tensor<2xf16>', but a 'tensor<2xf32>' is delivered (C6)}}
  %0 = commsched.reduce_scatter %x on @dp reduction(sum) dim(0) into %buffer
      : tensor<8xf32> into tensor<2xf16> -> !commsched.future<tensor<2xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<2xf32>>
  return
}
