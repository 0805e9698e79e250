// RUN: %rows %s | commsched-opt --commsched-remove-unsharded-param-usage \
// RUN:   --allow-unregistered-dialect -verify-diagnostics -split-input-file

// Operations that write an unsharded parameter in another way than by a copy,
// or might, and copies and reads at the wrong time.

func.func private @unknown(memref<4xf32>)

func.func @call(%p: memref<4xf32>, %full: tensor<4xf32>) {
  // expected-error@below {{'func.call' op may write the unsharded parameter '%arg0'}}
  func.call @unknown(%p) : (memref<4xf32>) -> ()
  // expected-note@below {{it is grown here}}
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// -----

commsched.group @dp size(4)

func.func @filled(%p: memref<4xf32>, %full: tensor<4xf32>, %v: f32, %i: index) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  // expected-note@below {{it is filled here}}
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  ROW
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// -----

  // expected-error@below {{'memref.store' op may write the unsharded parameter '%arg0', which only 'commsched.fsdp_copy' may}}
  memref.store %v, %p[%i] : memref<4xf32>

  // Of several the first in the program.
  %view = commsched.compute "view"(%w) {alias = 0 : i64} : (tensor<4xf32>) -> tensor<2x2xf32>
  // expected-error@below {{'commsched.compute' op may write the unsharded parameter '%arg0'}}
  commsched.compute "relu_"(%view) {mutates = array<i64: 0>} : (tensor<2x2xf32>) -> ()
  commsched.compute "relu_"(%w) {mutates = array<i64: 0>} : (tensor<4xf32>) -> ()
  commsched.compute "relu_"(%p) {mutates = array<i64: 0>} : (memref<4xf32>) -> ()

  // expected-error@below {{'commsched.all_reduce' op may write the unsharded parameter '%arg0'}}
  $run(%sum = all_reduce %full on @dp reduction(sum) into %w : tensor<4xf32> into tensor<4xf32> -> tensor<4xf32>)

  %m = bufferization.to_buffer %w : tensor<4xf32> to memref<4xf32>
  // expected-error@below {{'memref.store' op may write the unsharded parameter '%arg0'}}
  memref.store %v, %m[%i] : memref<4xf32>

// -----

func.func @freed(%p: memref<4xf32>, %full: tensor<4xf32>) {
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  // expected-note@below {{it is freed here}}
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  ROW
  return
}

// -----

  // expected-error@below {{'foreign.op' op may write the unsharded parameter '%arg0'}}
  "foreign.op"(%p) : (memref<4xf32>) -> ()

  // expected-error@below {{'memref.dealloc' op may write the unsharded parameter '%arg0'}}
  memref.dealloc %p : memref<4xf32>

  // expected-error@below {{'bufferization.to_tensor' op reads the unsharded parameter '%arg0', whose contents are not defined there}}
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>

// -----

func.func @grown(%p: memref<4xf32>, %full: tensor<4xf32>, %c: i1,
                 %other: memref<2xf32, strided<[1]>>) {
  ROW
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}

// -----

  // Through a view of a view, in a region, before any contents.
  // expected-note@below {{it is grown here}}
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  %cast = memref.cast %p : memref<4xf32> to memref<4xf32>
  %half = memref.subview %cast[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
  scf.if %c {
    // expected-error@below {{'memref.copy' op may write the unsharded parameter '%arg0', which only 'commsched.fsdp_copy' may}}
    memref.copy %other, %half : memref<2xf32, strided<[1]>> to memref<2xf32, strided<[1]>>
  }

  // expected-error@below {{'bufferization.to_tensor' op reads the unsharded parameter '%arg0', whose contents are not defined there}}
  %w = bufferization.to_tensor %p : memref<4xf32> to tensor<4xf32>
  %y = commsched.compute "y"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note@below {{it is grown here}}
  commsched.resize_storage %p bytes(16) : memref<4xf32>

// -----

// A name, and copies without storage.
func.func @filled_before_it_is_grown(%p: memref<4xf32> {commsched.name = "layer.weight"},
                                     %full: tensor<4xf32>) {
  // expected-error@below {{'commsched.fsdp_copy' op fills the unsharded parameter 'layer.weight', which has no storage there}}
  commsched.fsdp_copy %full into %p : tensor<4xf32>, memref<4xf32>
  // expected-note@below {{it is grown here}}
  commsched.resize_storage %p bytes(16) : memref<4xf32>
  commsched.resize_storage %p bytes(0) : memref<4xf32>
  return
}
