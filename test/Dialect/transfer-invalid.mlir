// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics

!host = tensor<3xf32, #commsched.host>
!t = tensor<3xf32>

func.func private @callee(!host) -> !host

func.func @legal(%x: !t, %y: tensor<?xi8>, %h: !host, %c: i1) -> (!host, !t) {
  %v0 = commsched.offload %x, %y : !t, tensor<?xi8>
      -> !commsched.future<!host, tensor<?xi8, #commsched.host>>
  %v1:2 = commsched.wait %v0 : !commsched.future<!host, tensor<?xi8, #commsched.host>>
  %v2 = func.call @callee(%v1#0) : (!host) -> !host
  %v3 = scf.if %c -> !host {
    scf.yield %v1#0 : !host
  } else {
    scf.yield %v2 : !host
  }
  %v4 = commsched.reload %v3, %h : !host, !host -> !commsched.future<!t, !t>
  %v5:2 = commsched.wait %v4 : !commsched.future<!t, !t>
  return %v1#0, %v5#0 : !host, !t
}

// -----

ROW

// -----

$error(a stream is "d2h" or "h2d", not "d2d" (C1))
func.func @stream_c1() attributes {key = #commsched.stream<"d2d">} {
  return
}

// expected-note@below {{the value is an argument}}
func.func @reload_c2_argument(%x: tensor<3xf32, #commsched.host>) {
  // expected-error@below {{'commsched.compute' op operand 0 is a 'tensor<3xf32, #commsched.host>' in the memory of the host, which only 'commsched.reload', calls and terminators may use (C2)}}
  commsched.compute "aten.sin"(%x) : (tensor<3xf32, #commsched.host>) -> ()
  $run(%v1 = reload %x : tensor<3xf32, #commsched.host> -> tensor<3xf32>)
  return
}

commsched.group @dp size(2)
func.func @wait_c4(%x: tensor<3xf32>) {
  %v0 = commsched.offload %x : tensor<3xf32> -> !commsched.future<tensor<3xf32, #commsched.host>>
  // expected-note@below {{the value is a result of this 'commsched.wait'}}
  %v1 = commsched.wait %v0 : !commsched.future<tensor<3xf32, #commsched.host>>
  // expected-error@below {{'commsched.all_reduce' op operand 0 is a 'tensor<3xf32, #commsched.host>' in the memory of the host, which only 'commsched.reload', calls and terminators may use (C4)}}
  $run(%v3 = all_reduce %v1 on @dp reduction(sum) : tensor<3xf32, #commsched.host> -> tensor<3xf32, #commsched.host>)
  return
}

// -----

func.func @row(
    %x: tensor<3xf32>, %y: tensor<4xf32>,
    %t3xf32_commsched_host: tensor<3xf32, #commsched.host>) {
  ROW
  return
}

// -----

$error('commsched.offload' op needs at least one operand (C1))
%v0 = "commsched.offload"() : () -> !commsched.future
commsched.wait %v0 : !commsched.future
$error('commsched.offload' op has 1 operand(s) but delivers 0 value(s) (C1))
%v0 = commsched.offload %x : tensor<3xf32> -> !commsched.future
commsched.wait %v0 : !commsched.future
$error('commsched.offload' op operand 0 is a 'tensor<3xf32, #commsched.host>', but a tensor with the encoding #commsched.host cannot be offloaded (C2))
%v0 = commsched.offload %t3xf32_commsched_host : tensor<3xf32, #commsched.host> -> !commsched.future<tensor<3xf32, #commsched.host>>
%v1 = commsched.wait %v0 : !commsched.future<tensor<3xf32, #commsched.host>>
$error('commsched.offload' op operand 0 is a 'tensor<3xf32>', so a 'tensor<3xf32, #commsched.host>' must be delivered, not a 'tensor<3xf32>' (C3))
%v0 = commsched.offload %x : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
%v1 = commsched.wait %v0 : !commsched.future<tensor<3xf32>>
$error('commsched.offload' op operand 1 is a 'tensor<4xf32>', so a 'tensor<4xf32, #commsched.host>' must be delivered, not a 'tensor<3xf32, #commsched.host>' (C3))
%v0 = commsched.offload %x, %y : tensor<3xf32>, tensor<4xf32> -> !commsched.future<tensor<3xf32, #commsched.host>, tensor<3xf32, #commsched.host>>
%v1:2 = commsched.wait %v0 : !commsched.future<tensor<3xf32, #commsched.host>, tensor<3xf32, #commsched.host>>
$error('commsched.offload' op operand 0 is a 'tensor<3xf32>', so a 'tensor<3xf32, #commsched.host>' must be delivered, not a 'tensor<3xbf16, #commsched.host>' (C3))
%v0 = commsched.offload %x : tensor<3xf32> -> !commsched.future<tensor<3xbf16, #commsched.host>>
%v1 = commsched.wait %v0 : !commsched.future<tensor<3xbf16, #commsched.host>>
$error('commsched.reload' op needs at least one operand (C1))
%v0 = "commsched.reload"() : () -> !commsched.future
commsched.wait %v0 : !commsched.future
$error('commsched.reload' op operand 0 is a 'tensor<3xf32>', but only tensors with the encoding #commsched.host can be reloaded (C2))
%v0 = commsched.reload %x : tensor<3xf32> -> !commsched.future<tensor<3xf32>>
%v1 = commsched.wait %v0 : !commsched.future<tensor<3xf32>>
$error('commsched.reload' op operand 0 is a 'tensor<3xf32, #commsched.host>', so a 'tensor<3xf32>' must be delivered, not a 'tensor<3xf32, #commsched.host>' (C3))
%v0 = commsched.reload %t3xf32_commsched_host : tensor<3xf32, #commsched.host> -> !commsched.future<tensor<3xf32, #commsched.host>>
%v1 = commsched.wait %v0 : !commsched.future<tensor<3xf32, #commsched.host>>
$error('commsched.offload' op starts a collective that is never waited for (C2))
%v0 = commsched.offload %x : tensor<3xf32> -> !commsched.future<tensor<3xf32, #commsched.host>>
