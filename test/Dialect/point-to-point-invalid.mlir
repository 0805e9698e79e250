// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

commsched.group @pp size(2)

func.func @send(%x: tensor<3xf32>, %y: tensor<i8>) {
  %0 = commsched.send %x, %y on @pp to(1) tag(0)
      : tensor<3xf32>, tensor<i8> -> !commsched.future
  commsched.wait %0 : !commsched.future
  return
}

func.func @recv(%buffer: tensor<3xf32>) {
  %0 = commsched.recv on @pp from(1) into %buffer
      : into tensor<3xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

// -----

func.func @send_c1(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.send' op names the group @pp, which does not exist (C1)}}
  %0 = commsched.send %x on @pp to(1) : tensor<3xf32> -> !commsched.future
  commsched.wait %0 : !commsched.future
  return
}

// -----

commsched.group @pp size(2)

func.func @row(%x: tensor<3xf32>) {
  ROW
  return
}

// -----

// expected-error@below {{'commsched.send' op needs at least one operand (C2)}}
%0 = "commsched.send"() <{group = @pp, to = 1 : i64}>
    : () -> !commsched.future
commsched.wait %0 : !commsched.future
// expected-error@below {{'commsched.send' op delivers nothing, but its future holds 1 type(s) (C2)}}
%0 = commsched.send %x on @pp to(1)
    : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
// expected-error@below {{'commsched.send' op tag(-7) is negative (C4)}}
%0 = commsched.send %x on @pp to(1) tag(-7)
    : tensor<3xf32> -> !commsched.future
commsched.wait %0 : !commsched.future
// expected-error@below {{'commsched.recv' op must deliver at least one value (C2)}}
%0 = commsched.recv on @pp from(1) : !commsched.future
commsched.wait %0 : !commsched.future
// expected-error@below {{'commsched.recv' op tag(-1) is negative (C4)}}
%0 = commsched.recv on @pp from(1) tag(-1)
    : !commsched.future<tensor<3xf32>>
%1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>

// -----

// expected-note@below {{the group is declared here}}
commsched.group @pp size(2)
ROW

// -----

func.func @send_c3(%x: tensor<3xf32>) {
  // expected-error@below {{'commsched.send' op to(2) is no rank of group @pp, which has 2 (C3)}}
  %0 = commsched.send %x on @pp to(2) : tensor<3xf32> -> !commsched.future
  commsched.wait %0 : !commsched.future
  return
}

func.func @recv_c3() {
  // expected-error@below {{'commsched.recv' op from(-1) is no rank of group @pp, which has 2 (C3)}}
  %0 = commsched.recv on @pp from(-1) : !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

// -----

func.func @recv_c1() {
  // expected-error@below {{'commsched.recv' op names the group @pp, which does not exist (C1)}}
  %0 = commsched.recv on @pp from(1) : !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}

// -----

commsched.group @pp size(2)

// expected-note@below {{the buffer is defined here}}
func.func @recv_c5(%buffer: tensor<4xf32>) {
  // expected-error@below {{'commsched.recv' op 'into' buffer 0 is a 'tensor<4xf32>', but a 'tensor<3xf32>' is delivered (C5)}}
  %0 = commsched.recv on @pp from(1) into %buffer
      : into tensor<4xf32> -> !commsched.future<tensor<3xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<3xf32>>
  return
}
