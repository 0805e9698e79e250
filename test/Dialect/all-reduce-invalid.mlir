// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

commsched.group @dp size(4)

func.func @all_reduce(%x: tensor<3xf32>, %i: tensor<i8>) {
  %0 = commsched.all_reduce %x, %i on @dp reduction(prod)
      : tensor<3xf32>, tensor<i8> -> !commsched.future<tensor<3xf32>, tensor<i8>>
  %1:2 = commsched.wait %0 : !commsched.future<tensor<3xf32>, tensor<i8>>
  return
}

// -----

func.func @all_reduce_c1(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.all_reduce' op names the group @dp, which does not exist (C1)}}
  %0 = commsched.all_reduce %x on @dp reduction(sum)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

// -----

commsched.group @dp size(4)

func.func @row(%x: tensor<3xf32>, %t3xf8E4M3FN: tensor<3xf8E4M3FN>) {
  ROW
  return
}

// -----

// expected-error@below {{'commsched.all_reduce' op has 1 operand(s) but delivers 2 value(s) (C2)}}
%0 = commsched.all_reduce %x on @dp reduction(sum)
    : tensor<3xf32> -> !commsched.future<tensor<3xf32>, tensor<3xf32>>
%1:2 = commsched.wait %0 : !commsched.future<tensor<3xf32>, tensor<3xf32>>
// expected-error@below {{'commsched.all_reduce' op operand 0 is a 'tensor<3xf32>', but a 'tensor<12xf32>' is delivered (C3)}}
%0 = commsched.all_reduce %x on @dp reduction(sum)
    : tensor<3xf32> -> !commsched.future<tensor<12xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<12xf32>>
// expected-error@below {{'commsched.all_reduce' op reduction(bor) is not defined for the element type 'f8E4M3FN' of operand 0 (C5)}}
%0 = commsched.all_reduce %t3xf8E4M3FN on @dp reduction(bor)
    : tensor<3xf8E4M3FN> -> !commsched.future<tensor<3xf8E4M3FN>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf8E4M3FN>>

// -----

commsched.group @dp size(4)

// expected-note@below {{the buffer is defined here}}
func.func @all_reduce_c4(%x: tensor<3xf32>, %buffer: tensor<1x3xf32>) {
  // expected-error@below {{'commsched.all_reduce' op 'into' buffer 0 is a 'tensor<1x3xf32>', but a 'tensor<3xf32>' is delivered (C4)}}
  %0 = commsched.all_reduce %x on @dp reduction(sum) into %buffer
      : tensor<3xf32> into tensor<1x3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}
