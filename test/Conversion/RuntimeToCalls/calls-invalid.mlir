// RUN: commsched-opt %s --split-input-file --verify-diagnostics --test-convert-requests-to-calls

commsched.group @g size(2)
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{works on tensors: run one-shot-bufferize before}}
  %r = commsched_rt.zero outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @no_group() -> index {
  // expected-error @below {{group @g does not exist}}
  %r = commsched_rt.rank @g : index
  return %r : index
}

// -----

func.func @dynamic_host_memory(%n: index) -> memref<?xf32, #commsched.host> {
  // expected-error @below {{cannot be lowered to the runtime: 'memref<?xf32, #commsched.host>' in the memory of the host has no static shape}}
  %h = memref.alloc(%n) : memref<?xf32, #commsched.host>
  return %h : memref<?xf32, #commsched.host>
}
