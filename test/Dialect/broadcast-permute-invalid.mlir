// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

commsched.group @dp size(4)

func.func @broadcast(%x: tensor<3xf32>, %buffer: tensor<3xf32>) {
  %0 = commsched.broadcast %x on @dp root(3) into %buffer
      : tensor<3xf32> into tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

func.func @permute(%x: tensor<3xf32>) {
  %0 = commsched.permute %x on @dp
      pairs(dense<[[0, 1], [1, 2], [2, 0], [3, 3]]> : tensor<4x2xi64>)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

func.func @permute_of_nothing(%x: tensor<3xf32>) {
  %0 = commsched.permute %x on @dp pairs(dense<> : tensor<0x2xi64>)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.broadcast' op names the group @dp, which does not exist (C1)}}
  %0 = commsched.broadcast %x on @dp root(0)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

// -----

commsched.group @dp size(4)

func.func @row(%x: tensor<3xf32>) {
  ROW
  return
}

// -----

// expected-error@below {{'commsched.broadcast' op has 1 operand(s) but delivers 0 value(s) (C2)}}
%0 = commsched.broadcast %x on @dp root(0)
    : tensor<3xf32> -> !commsched.future
commsched.wait %0 : !commsched.future
// expected-error@below {{'commsched.broadcast' op operand 0 is a 'tensor<3xf32>', but a 'tensor<?xf32>' is delivered (C3)}}
%0 = commsched.broadcast %x on @dp root(0)
    : tensor<3xf32> -> !commsched.future<tensor<?xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<?xf32>>
// expected-error@below {{'commsched.permute' op has 1 operand(s) but delivers 2 value(s) (C2)}}
%0 = commsched.permute %x on @dp pairs(dense<[[0, 1]]> : tensor<1x2xi64>)
    : tensor<3xf32> -> !commsched.future<tensor<3xf32>, tensor<3xf32>>
%1:2 = commsched.wait %0 : !commsched.future<tensor<3xf32>, tensor<3xf32>>
// expected-error@below {{'commsched.permute' op operand 0 is a 'tensor<3xf32>', but a 'tensor<3xf64>' is delivered (C3)}}
%0 = commsched.permute %x on @dp pairs(dense<[[0, 1]]> : tensor<1x2xi64>)
    : tensor<3xf32> -> !commsched.future<tensor<3xf64>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf64>>
// expected-error@below {{'commsched.permute' op 'pairs' must have the shape Nx2, not 'tensor<1x3xi64>' (C4)}}
%0 = commsched.permute %x on @dp pairs(dense<[[0, 1, 2]]> : tensor<1x3xi64>)
    : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
// expected-error@below {{'commsched.permute' op 'pairs' must have the shape Nx2, not 'tensor<2xi64>' (C4)}}
%0 = commsched.permute %x on @dp pairs(dense<[0, 1]> : tensor<2xi64>)
    : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
// expected-error@below {{'commsched.permute' op 'pairs' repeats the target 2 (C6)}}
%0 = commsched.permute %x on @dp
    pairs(dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>)
    : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
// expected-error@below {{'commsched.permute' op 'pairs' repeats the source 0 (C6)}}
%0 = commsched.permute %x on @dp
    pairs(dense<[[0, 2], [0, 1]]> : tensor<2x2xi64>)
    : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
// expected-error@below {{'commsched.permute' op writes into 2 buffer(s) but delivers 1 value(s) (C7)}}
%0 = commsched.permute %x on @dp pairs(dense<[[0, 2]]> : tensor<1x2xi64>)
    into %x, %x
    : tensor<3xf32> into tensor<3xf32>, tensor<3xf32>
      -> !commsched.future<tensor<3xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>

// -----

// expected-note@below {{the group is declared here}}
commsched.group @dp size(4)
ROW

// -----

func.func @broadcast_c4(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.broadcast' op root(4) is no rank of group @dp, which has 4 (C4)}}
  %0 = commsched.broadcast %x on @dp root(4)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

func.func @broadcast_c4_negative(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.broadcast' op root(-1) is no rank of group @dp, which has 4 (C4)}}
  %0 = commsched.broadcast %x on @dp root(-1)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

func.func @permute_c5_source(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.permute' op pairs' source (4) is no rank of group @dp, which has 4 (C5)}}
  %0 = commsched.permute %x on @dp
      pairs(dense<[[0, 1], [4, 0]]> : tensor<2x2xi64>)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

func.func @permute_c5_target(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.permute' op pairs' target (-1) is no rank of group @dp, which has 4 (C5)}}
  %0 = commsched.permute %x on @dp pairs(dense<[[0, -1]]> : tensor<1x2xi64>)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

// -----

commsched.group @dp size(4)

// expected-note@below {{the buffer is defined here}}
func.func @broadcast_c5(%x: tensor<3xf32>, %buffer: tensor<4xf32>) {
  // expected-error@below {{'commsched.broadcast' op 'into' buffer 0 is a 'tensor<4xf32>', but a 'tensor<3xf32>' is delivered (C5)}}
  %0 = commsched.broadcast %x on @dp root(0) into %buffer
      : tensor<3xf32> into tensor<4xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

// -----

func.func @permute_c1(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.permute' op names the group @dp, which does not exist (C1)}}
  %0 = commsched.permute %x on @dp pairs(dense<[[0, 1]]> : tensor<1x2xi64>)
      : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}
