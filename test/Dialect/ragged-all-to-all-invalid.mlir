// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

commsched.group @ep size(2)

// The lists may be of any integer types, and what is dynamic is not verified.
func.func @ragged_all_to_all(%x: tensor<?x16xf32>, %a: tensor<4xi64>,
                             %s: tensor<?xi32>, %b: tensor<12x?xf32>) {
  %0 = commsched.ragged_all_to_all %x on @ep send(%a, %s) at(%a) receive(%s)
      into %b : tensor<?x16xf32>, tensor<4xi64>, tensor<?xi32>, tensor<4xi64>,
      tensor<?xi32> into tensor<12x?xf32> -> !commsched.future<tensor<12x?xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<12x?xf32>>
  return
}

// -----

func.func @ragged_all_to_all_c1(%x: tensor<10x16xf32>, %a: tensor<4xi32>, %s: tensor<4xi32>, %o: tensor<4xi32>, %r: tensor<4xi32>, %b: tensor<12x16xf32>) {
  // expected-error@below {{'commsched.ragged_all_to_all' op names the group @ep, which does not exist (C1)}}
  %0 = commsched.ragged_all_to_all %x on @ep send(%a, %s) at(%o) receive(%r)
      into %b : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
      into tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>
  return
}

// -----

commsched.group @ep size(2)
ROW

// -----

// expected-note@below {{the buffer is defined here}}
func.func @ragged_all_to_all_c2(%x: tensor<10x16xf32>, %a: tensor<4xi32>, %s: tensor<4xi32>, %o: tensor<4xi32>, %r: tensor<4xi32>, %b: tensor<12x16xf32>) {
  // expected-error@below {{'commsched.ragged_all_to_all' op writes into a 'tensor<12x16xf32>', but its future is a '!commsched.future<tensor<11x16xf32>>' (C2)}}
  %0 = commsched.ragged_all_to_all %x on @ep send(%a, %s) at(%o) receive(%r)
      into %b : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
      into tensor<12x16xf32> -> !commsched.future<tensor<11x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<11x16xf32>>
  return
}
// expected-note@below {{the buffer is defined here}}
func.func @ragged_all_to_all_c3_element_types(%x: tensor<10x16xf32>, %a: tensor<4xi32>, %s: tensor<4xi32>, %o: tensor<4xi32>, %r: tensor<4xi32>, %b: tensor<12x16xf16>) {
  // expected-error@below {{'commsched.ragged_all_to_all' op the operand is a 'tensor<10x16xf32>', but 'into' is a 'tensor<12x16xf16>': the element types must be equal (C3)}}
  %0 = commsched.ragged_all_to_all %x on @ep send(%a, %s) at(%o) receive(%r)
      into %b : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
      into tensor<12x16xf16> -> !commsched.future<tensor<12x16xf16>>
  %1 = commsched.wait %0 : !commsched.future<tensor<12x16xf16>>
  return
}
// expected-note@below {{the buffer is defined here}}
func.func @ragged_all_to_all_c3_ranks(%x: tensor<10x16xf32>, %a: tensor<4xi32>, %s: tensor<4xi32>, %o: tensor<4xi32>, %r: tensor<4xi32>, %b: tensor<12xf32>) {
  // expected-error@below {{'commsched.ragged_all_to_all' op the operand is a 'tensor<10x16xf32>', but 'into' is a 'tensor<12xf32>': the ranks must be equal (C3)}}
  %0 = commsched.ragged_all_to_all %x on @ep send(%a, %s) at(%o) receive(%r)
      into %b : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
      into tensor<12xf32> -> !commsched.future<tensor<12xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<12xf32>>
  return
}
// expected-note@below {{the buffer is defined here}}
func.func @ragged_all_to_all_c3_dimensions(%x: tensor<10x16xf32>, %a: tensor<4xi32>, %s: tensor<4xi32>, %o: tensor<4xi32>, %r: tensor<4xi32>, %b: tensor<10x8xf32>) {
  // expected-error@below {{'commsched.ragged_all_to_all' op the operand is a 'tensor<10x16xf32>', but 'into' is a 'tensor<10x8xf32>': only dimension 0 may differ (C3)}}
  %0 = commsched.ragged_all_to_all %x on @ep send(%a, %s) at(%o) receive(%r)
      into %b : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
      into tensor<10x8xf32> -> !commsched.future<tensor<10x8xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<10x8xf32>>
  return
}

// -----

commsched.group @ep size(2)

func.func @row(
    %a: tensor<4xi32>, %s: tensor<4xi32>, %o: tensor<4xi32>, %r: tensor<4xi32>,
    %x: tensor<10x16xf32>, %b: tensor<12x16xf32>, %tf32: tensor<f32>,
    %tf32_1: tensor<f32>, %t4xf32: tensor<4xf32>, %t2x2xi32: tensor<2x2xi32>,
    %t_xi32: tensor<?xi32>, %t2xi32: tensor<2xi32>) {
  ROW
  return
}

// -----

// expected-error@below {{'commsched.ragged_all_to_all' op the operand is a 'tensor<f32>', which has no rows (C3)}}
%0 = commsched.ragged_all_to_all %tf32 on @ep send(%a, %s) at(%o) receive(%r)
    into %tf32_1 : tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
    into tensor<f32> -> !commsched.future<tensor<f32>>
%1 = commsched.wait %0 : !commsched.future<tensor<f32>>
// expected-error@below {{'commsched.ragged_all_to_all' op 'send_sizes' is a 'tensor<4xf32>', not a tensor of one dimension and integers (C4)}}
%0 = commsched.ragged_all_to_all %x on @ep send(%a, %t4xf32) at(%o) receive(%r)
    into %b : tensor<10x16xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>
    into tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>
// expected-error@below {{'commsched.ragged_all_to_all' op 'recv_sizes' is a 'tensor<2x2xi32>', not a tensor of one dimension and integers (C4)}}
%0 = commsched.ragged_all_to_all %x on @ep send(%a, %s) at(%o) receive(%t2x2xi32)
    into %b : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<2x2xi32>
    into tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>
// expected-error@below {{'commsched.ragged_all_to_all' op 'output_offsets' has 2 entries, but 'send_sizes' has 4 (C5)}}
%0 = commsched.ragged_all_to_all %x on @ep send(%t_xi32, %s) at(%t2xi32) receive(%r)
    into %b : tensor<10x16xf32>, tensor<?xi32>, tensor<4xi32>, tensor<2xi32>, tensor<4xi32>
    into tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>

// -----

// expected-note@below {{group @ep of size 2 is declared here}}
commsched.group @ep size(2)

func.func @ragged_all_to_all_c5_multiple(%x: tensor<10x16xf32>, %a: tensor<3xi32>, %s: tensor<3xi32>, %o: tensor<3xi32>, %r: tensor<3xi32>, %b: tensor<12x16xf32>) {
  // expected-error@below {{'commsched.ragged_all_to_all' op 'input_offsets' has 3 entries, which the group's size 2 does not divide (C5)}}
  %0 = commsched.ragged_all_to_all %x on @ep send(%a, %s) at(%o) receive(%r)
      into %b : tensor<10x16xf32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>
      into tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>
  return
}
