// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics

LET $rows(MORE) "s" on @g ins(%x : tensor<4xf32>) send_rows(%splits, %n) {received = array<i64: 0>, sent = array<i64: 0>, MORE} : !commsched_rt.request

func.func @start_c1(%x: tensor<4xf32>) {
  // expected-error @below {{has no collective 'barrier' to start (C1)}}
  %r = commsched_rt.start "barrier" "b" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
  commsched_rt.wait %r
  return
}

// -----

func.func @row(
    %x: tensor<4xf32>, %y: tensor<4xf32>, %m: memref<4xf32>,
    %h: tensor<4xf32, #commsched.host>) {
  ROW
  return
}

// -----

$error(sends 1 tensors, but receives 0 (C2))
%r = commsched_rt.start "send" "s" on @g ins(%x : tensor<4xf32>) {received = array<i64>, sent = array<i64: 4>} : !commsched_rt.request
commsched_rt.wait %r ins(%x : tensor<4xf32>)
$error(has a negative number of elements (C2))
%r = commsched_rt.start "send" "s" on @g ins(%x : tensor<4xf32>) {received = array<i64: 0>, sent = array<i64: -4>} : !commsched_rt.request
commsched_rt.wait %r ins(%x : tensor<4xf32>)
$error(has 2 ins and 0 outs for 1 tensors (C3))
%r = commsched_rt.start "send" "s" on @g ins(%x, %x : tensor<4xf32>, tensor<4xf32>) {received = array<i64: 0>, sent = array<i64: 4>} : !commsched_rt.request
commsched_rt.wait %r ins(%x, %x : tensor<4xf32>, tensor<4xf32>)
$error(is in place, but has 1 ins and 1 outs (C3))
%r, %b = commsched_rt.start "all_reduce" "s" on @g ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {in_place, received = array<i64: 4>, sent = array<i64: 4>} : !commsched_rt.request, tensor<4xf32>
%v = commsched_rt.wait %r ins(%x : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>
$error(has results of types () for tensors of types ('tensor<4xf32>') (C4))
%r = commsched_rt.start "all_reduce" "s" on @g ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {received = array<i64: 4>, sent = array<i64: 4>} : !commsched_rt.request
commsched_rt.wait %r ins(%x : tensor<4xf32>)
$error(fills tensors and memrefs (C4))
%r, %b = commsched_rt.start "all_reduce" "s" on @g ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%x, %m : tensor<4xf32>, memref<4xf32>) {received = array<i64: 4, 4>, sent = array<i64: 4, 4>} : !commsched_rt.request, tensor<4xf32>
%v = commsched_rt.wait %r ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%b, %m : tensor<4xf32>, memref<4xf32>) -> tensor<4xf32>
$error(needs one wait in its block (C5))
%r = commsched_rt.start "all_reduce" "s" on @g outs(%m : memref<4xf32>) {in_place, received = array<i64: 4>, sent = array<i64: 4>} : !commsched_rt.request
$error(needs one wait in its block (C5))
%r = commsched_rt.start "all_reduce" "s" on @g outs(%m : memref<4xf32>) {in_place, received = array<i64: 4>, sent = array<i64: 4>} : !commsched_rt.request
// expected-note @below {{the request is used here}}
commsched_rt.wait %r outs(%m : memref<4xf32>)
// expected-note @below {{the request is used here}}
commsched_rt.wait %r outs(%m : memref<4xf32>)
$error(needs offset, row stride and repeat stride, not negative (C1))
commsched_rt.copy ins(%m : memref<4xf32>) outs(%m : memref<4xf32>) {repeat = 1 : i64, rows = 1 : i64, row_elements = 1 : i64, source = array<i64: 0, 0>, target = array<i64: 0, 0, 0>}
$error(has a negative number of rows or elements (C2))
commsched_rt.copy ins(%m : memref<4xf32>) outs(%m : memref<4xf32>) {repeat = 1 : i64, rows = -1 : i64, row_elements = 1 : i64, source = array<i64: 0, 0, 0>, target = array<i64: 0, 0, 0>}
$error(has one of two element types (C3))
commsched_rt.copy ins(%m : memref<4xf32>) outs(%m : memref<4xf32>) {repeat = 1 : i64, rows = 1 : i64, row_elements = 1 : i64, source = array<i64: 0, 0, 0>, source_type = f32, target = array<i64: 0, 0, 0>}
$error(expected one of [all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, permute, send, recv, barrier, offload, reload] for the kind of a collective, got: gather)
%r = commsched_rt.start "gather" "g" on @g {received = array<i64>, sent = array<i64>} : !commsched_rt.request
commsched_rt.wait %r
$error(has group @g, but 'offload' has none (C8))
%r, %b = commsched_rt.start "offload" "s" on @g ins(%x : tensor<4xf32>) outs(%h : tensor<4xf32, #commsched.host>) {received = array<i64: 4>, sent = array<i64: 4>} : !commsched_rt.request, tensor<4xf32, #commsched.host>
%v = commsched_rt.wait %r ins(%x : tensor<4xf32>) outs(%b : tensor<4xf32, #commsched.host>) -> tensor<4xf32, #commsched.host>
$error(has no group, but 'send' needs one (C8))
%r = commsched_rt.start "send" "s" ins(%x : tensor<4xf32>) {received = array<i64: 0>, sent = array<i64: 4>} : !commsched_rt.request
commsched_rt.wait %r ins(%x : tensor<4xf32>)
$error(has an implementation, but 'offload' has none (C8))
%r, %b = commsched_rt.start "offload" "o" ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {implementation = #commsched_rt.implementation<"second", "nccl">, received = array<i64: 4>, sent = array<i64: 4>} : !commsched_rt.request, tensor<4xf32>
%z = commsched_rt.wait %r ins(%x : tensor<4xf32>) outs(%b : tensor<4xf32>) -> tensor<4xf32>

// -----

ROW

// -----

// expected-note @below {{the request is defined here}}
func.func @wait_c1(%r: !commsched_rt.request) {
  // expected-error @below {{waits for something that is not a start (C1)}}
  commsched_rt.wait %r
  return
}

func.func @wait_c2(%x: tensor<4xf32>) {
  %r, %b = commsched_rt.start "all_reduce" "s" on @g outs(%x : tensor<4xf32>) {in_place, received = array<i64: 4>, sent = array<i64: 4>} : !commsched_rt.request, tensor<4xf32>
  // expected-error @below {{has results of types ('tensor<5xf32>') for tensors of types ('tensor<4xf32>') (C2)}}
  %v = commsched_rt.wait %r outs(%b : tensor<4xf32>) -> tensor<5xf32>
  return
}

func.func @wait_c3(%x: tensor<4xf32>) {
  // expected-note @below {{started here}}
  %r, %b = commsched_rt.start "all_reduce" "s" on @g outs(%x : tensor<4xf32>) {in_place, received = array<i64: 4>, sent = array<i64: 4>} : !commsched_rt.request, tensor<4xf32>
  // expected-error @below {{has other ins or outs than its start (C3)}}
  %v = commsched_rt.wait %r outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @read_splits_c1(%s: tensor<2xi64>) -> index {
  // expected-error @below {{needs one start in its block that uses its splits (C1)}}
  %splits, %rows = commsched_rt.read_splits ins(%s : tensor<2xi64>)
  return %rows : index
}
$error(an implementation needs a name)
func.func private @no_name() attributes {a = #commsched_rt.implementation<"", "nccl">}
$error(implementation 'x' has the method 'nvls', not 'nccl', 'copy-engine' or 'symmetric')
func.func private @method() attributes {a = #commsched_rt.implementation<"x", "nvls">}
$error(implementation 'x' has -1 channels)
func.func private @negative() attributes {a = #commsched_rt.implementation<"x", "nccl", channels = -1>}
$error(implementation 'x' has channels, but 'symmetric' has none)
func.func private @channels() attributes {a = #commsched_rt.implementation<"x", "symmetric", channels = 4>}
$error(implementation 'x' has a stream without a name)
func.func private @stream() attributes {a = #commsched_rt.implementation<"x", "nccl", stream = "">}

// -----

func.func @row(%x: tensor<4xf32>, %s: tensor<2xi64>, %n: index) {
  ROW
  commsched_rt.wait %r ins(%x : tensor<4xf32>)
  return
}

// -----

  %splits, %rows = commsched_rt.read_splits ins(%s : tensor<2xi64>)
  // expected-error @below {{has splits that are values, but is of kind 'send' (C6)}}
  %r = commsched_rt.start "send" $rows(row = array<i64: 1>)

  %splits, %rows = commsched_rt.read_splits ins(%s : tensor<2xi64>)
  // expected-error @below {{needs the elements of a row of each of its 1 tensors, not negative (C6)}}
  %r = commsched_rt.start "all_to_all" $rows(row = array<i64: -1>)

  %splits, %rows = commsched_rt.read_splits ins(%s : tensor<2xi64>)
  // expected-error @below {{has input_splits as a list and as values (C6)}}
  %r = commsched_rt.start "all_to_all" $rows(row = array<i64: 1>, input_splits = [array<i64: 2, 2>])

  // expected-note @below {{defined here}}
  %splits, %rows = commsched_rt.read_splits output ins(%s : tensor<2xi64>)
  // expected-error @below {{takes rows to send that have not been read as such (C7)}}
  %r = commsched_rt.start "all_to_all" $rows(row = array<i64: 1>)
