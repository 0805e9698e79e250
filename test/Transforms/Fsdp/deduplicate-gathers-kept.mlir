// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -split-input-file -o %t.before
// RUN: commsched-opt %t.mlir -split-input-file -verify-diagnostics=only-expected \
// RUN:   --commsched-bucket-all-gather="deduplicate max-count=1" %remarks -o %t.after
// RUN: diff %t.before %t.after
// RUN: commsched-opt %t.mlir -split-input-file -o /dev/null %remarks 2>&1 \
// RUN:   --commsched-bucket-all-gather="deduplicate max-count=1" | grep 'remark: .Missed. DuplicateGatherKept' | count 8

// Gathers that are not dropped, and why. Nothing changes.

commsched.group @dp size(2)

// Beside "peak" there are 32 bytes of arguments, 16 of "layer" and its own 64;
// what the first gather delivers are 32 more.
func.func @memory(%p: tensor<4xf32>, %x: tensor<8xbf16>) -> tensor<8xbf16> {
  $run(%w0 = all_gather %p on @dp dim(0) {commsched.name = "forward"} : tensor<4xf32> -> tensor<8xf32>)
  %y = commsched.compute "layer"(%x, %w0) : (tensor<8xbf16>, tensor<8xf32>) -> tensor<8xbf16>
  %peak = commsched.compute "peak"(%x) : (tensor<8xbf16>) -> tensor<16xf32>
  // expected-remark-re@below {{[Missed] DuplicateGatherKept | Category:commsched | Function=memory | {{.*}}commsched.all_gather 'backward' gathers again what commsched.all_gather 'forward' has gathered: keeping it takes 144 bytes at peak, 32 over the limit of 112}}
  $run(%w1 = all_gather %p on @dp dim(0) {commsched.name = "backward"} : tensor<4xf32> -> tensor<8xf32>)
  %d = commsched.compute "gradient"(%y, %w1) : (tensor<8xbf16>, tensor<8xf32>) -> tensor<8xbf16>
  return %d : tensor<8xbf16>
}

// -----

!part = tensor<4xf32>
!whole = tensor<8xf32>
!future = !commsched.future<!whole>
commsched.group @dp size(2)

LET $gather(W = P as NAME)
  $run(%W = all_gather %P on @dp dim(0) {commsched.name = "NAME"} : !part -> !whole)

func.func @row(%p: !part, %q: tensor<3xf32>, %buffer: !whole) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  ROW
  return
}

// -----

  // "step" writes the parameter between the two.
  $gather(w0 = p as first)
  commsched.compute "step"(%p) {mutates = array<i64: 0>} : (!part) -> ()
  // expected-remark@below {{commsched.all_gather 'second' gathers again what commsched.all_gather 'first' has gathered: step writes in place}}
  $gather(w1 = p as second)

  // The copy may be of the old contents, though the gather starts later.
  %c0 = commsched.compute "copy"(%p) : (!part) -> !part
  commsched.compute "step"(%p) {mutates = array<i64: 0>} : (!part) -> ()
  %c1 = commsched.compute "copy"(%p) : (!part) -> !part
  $gather(w0 = c0 as first)
  // expected-remark@below {{step writes in place}}
  $gather(w1 = c1 as second)

  // Here it is the second that is of the old contents.
  %c1 = commsched.compute "copy"(%p) : (!part) -> !part
  commsched.compute "step"(%p) {mutates = array<i64: 0>} : (!part) -> ()
  %c0 = commsched.compute "copy"(%p) : (!part) -> !part
  $gather(w0 = c0 as first)
  // expected-remark@below {{'second' gathers again what commsched.all_gather 'first' has gathered: step writes in place}}
  $gather(w1 = c1 as second)

  // The parameter is read in a region.
  %c0 = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %p[%i] : !part
    tensor.yield %e : f32
  } : !part
  $gather(w0 = c0 as first)
  commsched.compute "step"(%p) {mutates = array<i64: 0>} : (!part) -> ()
  %c1 = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %p[%i] : !part
    tensor.yield %e : f32
  } : !part
  // expected-remark@below {{step writes in place}}
  $gather(w1 = c1 as second)

  // One of the shards is written.
  %c0 = commsched.compute "copy"(%p) : (!part) -> !part
  %f0 = commsched.compute "flatten"(%c0) : (!part) -> !part
  $gather(w0 = f0 as first)
  %c1 = commsched.compute "copy"(%p) : (!part) -> !part
  commsched.compute "scale"(%c1) {mutates = array<i64: 0>} : (!part) -> ()
  %f1 = commsched.compute "flatten"(%c1) : (!part) -> !part
  // expected-remark@below {{'second' gathers again what commsched.all_gather 'first' has gathered: scale writes in place}}
  $gather(w1 = f1 as second)

  // What either of them delivers is changed.
  $gather(wa = p as a)
  commsched.compute "scale_a"(%wa) {mutates = array<i64: 0>} : (!whole) -> ()
  // expected-remark@below {{'b' gathers again what commsched.all_gather 'a' has gathered: scale_a writes in place}}
  $gather(wb = p as b)
  // expected-remark@below {{'c' gathers again what commsched.all_gather 'b' has gathered: scale_c writes in place}}
  $gather(wc = p as c)
  commsched.compute "scale_c"(%wc) {mutates = array<i64: 0>} : (!whole) -> ()

  // What is copied into another tensor is not looked at: no remark.
  %e0 = tensor.empty() : !part
  %c0 = commsched.compute "copy_"(%e0, %p) {alias = 0 : i64, mutates = array<i64: 0>} : (!part, !part) -> !part
  $gather(w0 = c0 as first)
  %e1 = tensor.empty() : !part
  %c1 = commsched.compute "copy_"(%e1, %p) {alias = 0 : i64, mutates = array<i64: 0>} : (!part, !part) -> !part
  $gather(w1 = c1 as second)

  // Nor is a copy-in.
  %slice, %all = commsched.all_gather_copy_in %p on @dp : !part -> !part, !whole
  $gather(w0 = slice as first)
  $gather(w1 = slice as second)

  // Nor is what is gathered into a buffer.
  $run(%w0 = all_gather %p on @dp dim(0) into %buffer : !part into !whole -> !whole)
  $run(%w1 = all_gather %p on @dp dim(0) into %buffer : !part into !whole -> !whole)

  // Nor is what is made of a tensor that is written.
  %e = tensor.empty() : !part
  %zeros = commsched.compute "zero_"(%e) {alias = 0 : i64, mutates = array<i64: 0>} : (!part) -> !part
  %s0 = tensor.insert_slice %q into %zeros[0] [3] [1] : tensor<3xf32> into !part
  %c0 = commsched.compute "copy"(%s0) : (!part) -> !part
  $gather(w0 = c0 as first)
  %ones = commsched.compute "ones_"(%zeros) {alias = 0 : i64, mutates = array<i64: 0>} : (!part) -> !part
  %s1 = tensor.insert_slice %q into %zeros[0] [3] [1] : tensor<3xf32> into !part
  %c1 = commsched.compute "copy"(%s1) : (!part) -> !part
  $gather(w1 = c1 as second)

// -----

!part = tensor<4x4xf32>
!whole = tensor<8x4xf32>
!future = !commsched.future<!whole>
commsched.group @dp size(2)
commsched.group @other size(2)

func.func @row(%p: !part, %q: !part, %buffer: !whole) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  $run(%w0 = all_gather %p on @dp dim(0) : !part -> !whole)
  ROW
  return
}

// -----

  // Another parameter, dimension, group, type or value; in place, or together
  // with others: no remark, as none gathers the same.
  %g = commsched.all_gather %q on @dp dim(0) : !part -> !future
  %w = commsched.wait %g : !future

  %g = commsched.all_gather %p on @dp dim(1) : !part -> !commsched.future<tensor<4x8xf32>>
  %w = commsched.wait %g : !commsched.future<tensor<4x8xf32>>

  $run(%w = all_gather %p on @other dim(0) : !part -> !whole)

  %c0 = commsched.compute "cast"(%p) : (!part) -> tensor<4x4xbf16>
  $run(%w1 = all_gather %c0 on @dp dim(0) : tensor<4x4xbf16> -> tensor<8x4xbf16>)
  %c2 = commsched.compute "cast"(%p) : (!part) -> tensor<4x4xf16>
  $run(%w2 = all_gather %c2 on @dp dim(0) : tensor<4x4xf16> -> tensor<8x4xf16>)

  %v = commsched.compute "view"(%p) {alias = 0 : i64} : (!part) -> !part
  %g = commsched.all_gather %v on @dp dim(0) : !part -> !future
  %w = commsched.wait %g : !future

  %g = commsched.all_gather %p on @dp dim(0) into %buffer : !part into !whole -> !future
  %w = commsched.wait %g : !future

  %g = commsched.all_gather %p, %p on @dp dim(0) : !part, !part -> !commsched.future<!whole, !whole>
  %w:2 = commsched.wait %g : !commsched.future<!whole, !whole>
