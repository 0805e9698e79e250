// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics \
// RUN:   --test-convert-commsched-to-requests

commsched.group @g size(4)
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{cannot be lowered to the runtime: 'tensor<?xf32>' has no static shape}}
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<?xf32> -> !commsched.future<tensor<?xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<?xf32>>
  return %r : tensor<?xf32>
}

// -----

ROW

// -----

commsched.group @g size(4)
func.func @odd_width(%x: tensor<8xi24>) -> tensor<8xi24> {
  // expected-error @below {{cannot be lowered to the runtime: elements of 'tensor<8xi24>' are not a power of two of bytes}}
  %f = commsched.broadcast %x on @g root(0)
      : tensor<8xi24> -> !commsched.future<tensor<8xi24>>
  %r = commsched.wait %f : !commsched.future<tensor<8xi24>>
  return %r : tensor<8xi24>
}

commsched.group @g size(2)
func.func @ragged(%x: tensor<8xf32>, %l: tensor<2xi32>, %b: tensor<8xf32>)
    -> tensor<8xf32> {
  // expected-error @below {{cannot be lowered to the runtime: it writes rows where other ranks say, and the runtime writes them one after the other}}
  %f = commsched.ragged_all_to_all %x on @g send(%l, %l) at(%l) receive(%l)
      into %b : tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>,
      tensor<2xi32> into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
  return %r : tensor<8xf32>
}

func.func @no_time(%x: tensor<?xf32>) -> tensor<4xf32> {
  // expected-error @below {{cannot be lowered to the runtime: 'tensor<?xf32>' has no static shape}}
  %r = commsched.compute "slice"(%x) : (tensor<?xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

func.func @yields_none(%x: tensor<4xf32>) -> vector<4xf32> {
  // expected-error @below {{cannot be emulated: yields 'vector<4xf32>'}}
  %r = commsched.compute "load"(%x) : (tensor<4xf32>) -> vector<4xf32>
  return %r : vector<4xf32>
}

commsched.group @g size(2)
func.func @even_dynamic(%x: tensor<8x2xf32>, %s: tensor<2xi64>)
    -> tensor<?x2xf32> {
  // expected-error @below {{cannot be lowered to the runtime: 'tensor<?x2xf32>' is divided evenly, but has a dynamic size}}
  %f = commsched.all_to_all %x on @g split_dim(0) concat_dim(0)
      input_splits(%s : tensor<2xi64>)
      : tensor<8x2xf32> -> !commsched.future<tensor<?x2xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<?x2xf32>>
  return %r : tensor<?x2xf32>
}

commsched.group @g size(2)
func.func @dynamic_row(%x: tensor<8x?xf32>, %s: tensor<2xi64>)
    -> tensor<8x?xf32> {
  // expected-error @below {{cannot be lowered to the runtime: 'tensor<?xf32>' has no static shape}}
  %f = commsched.all_to_all %x on @g split_dim(0) concat_dim(0)
      input_splits(%s : tensor<2xi64>)
      : tensor<8x?xf32> -> !commsched.future<tensor<8x?xf32>>
  %r = commsched.wait %f : !commsched.future<tensor<8x?xf32>>
  return %r : tensor<8x?xf32>
}

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      "nccl-4" = {method = "nccl", channels = 4 : i64}}>>} {
  commsched.group @g size(4)
  func.func @not_listed(%x: tensor<4xf32>) -> tensor<16xf32> {
    // expected-error @below {{names the implementation 'nccl-8', but the target lists nccl, nccl-4}}
    %f = commsched.all_gather %x on @g dim(0)
        {commsched.implementation = "nccl-8"}
        : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<16xf32>>
    return %r : tensor<16xf32>
  }
}

// expected-error@+1 {{'func.func' op has a value of type 'tensor<?x4611686018427387904xf32>', which is more than 2^63 - 1 bytes}}
func.func @too_large(%x: tensor<?x4611686018427387904xf32>) {
  return
}
