// RUN: %rows %s | commsched-test-opt --split-input-file --verify-diagnostics \
// RUN:   --test-joint-function -o /dev/null

// expected-error @+1 {{'func.func' op is only declared: there is nothing to partition}}
func.func private @declared(tensor<4xf32> $in) -> tensor<4xf32> $joint

// -----

ROW

// -----

// expected-error @+1 {{'func.func' op has 2 blocks, but only a function of one can be partitioned}}
func.func @blocks(%x: tensor<4xf32> $in) -> tensor<4xf32> $joint {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// expected-error @+1 {{'func.func' op has no 'commsched.num_forward_outputs' to say how many of its 2 results are the forward's}}
func.func @tangent(%x: tensor<4xf32> $in,
    // expected-note @+1 {{this argument is a tangent}}
    %t: tensor<4xf32> {commsched.role = "tangent"}) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %t : tensor<4xf32>, tensor<4xf32>
}

// expected-error @+1 {{'func.func' op has no 'commsched.num_forward_outputs' to say how many of its 1 results are the forward's}}
func.func @tagged(%x: tensor<4xf32> $in) -> tensor<4xf32> {
  %y = commsched.compute "aten.neg"(%x) {commsched.partition = "forward"} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @+1 {{this operation belongs to the backward, and others to the forward}}
  %z = commsched.compute "aten.neg"(%y) {commsched.partition = "must_be_backward"} : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// What another function saved makes a backward, not a joint function.
func.func @backward(%x: tensor<4xf32> $saved, %t: tensor<4xf32> $tangent) -> tensor<4xf32> {
  return %t : tensor<4xf32>
}

// Nor is a forward alone one.
func.func @forward(%x: tensor<4xf32> $in) -> tensor<4xf32> {
  %y = commsched.compute "aten.neg"(%x) {commsched.partition = "forward"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func @role(%x: tensor<4xf32> $in,
    // expected-error @+1 {{argument #1 of the joint function 'role' has no 'commsched.role'}}
    %y: tensor<4xf32>) -> tensor<4xf32>
    $joint {
  return %x : tensor<4xf32>
}

// expected-error @+1 {{argument #0 of the joint function 'activation' has the role "saved_activation", which only arguments of a backward have}}
func.func @activation(%x: tensor<4xf32> $saved) -> tensor<4xf32> $joint {
  return %x : tensor<4xf32>
}

// expected-error @+1 {{argument #0 of the joint function 'size' has type 'tensor<?xf32>', whose size is not static: nothing tells what saving it takes}}
func.func @size(%x: tensor<?xf32> $in) -> tensor<?xf32> $joint {
  return %x : tensor<?xf32>
}

func.func @size_of_result(%x: tensor<4xf32> $in) attributes {commsched.num_forward_outputs = 0} {
  // expected-error @+1 {{result #1 of 'commsched.compute' of the joint function 'size_of_result' has type 'tensor<?xf32>', whose size is not static}}
  %y:2 = commsched.compute "aten.nonzero"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?xf32>)
  return
}

func.func @local_memory() -> memref<4xf32> $joint {
  %m = memref.alloc() {commsched.name = "local"} : memref<4xf32>
  // expected-error @+1 {{'func.return' op returns 'local' of type 'memref<4xf32>' as result #0, but a half can return only tensors, numbers and memrefs that are arguments}}
  return %m : memref<4xf32>
}

func.func @in_flight(%f: !commsched.future<tensor<4xf32>> $in) -> (i32, !commsched.future<tensor<4xf32>>)
    $joint {
  %c = arith.constant 1 : i32
  // expected-error @+1 {{'func.return' op returns 'arg0' of type '!commsched.future<tensor<4xf32>>' as result #1}}
  return %c, %f : i32, !commsched.future<tensor<4xf32>>
}

func.func @region() attributes {commsched.num_forward_outputs = 0} {
  // expected-error @+1 {{'arith.constant' op has 'commsched.recompute_region' 4294967296, but regions are numbered with 32 bits}}
  %c = arith.constant {commsched.recompute_region = 4294967296 : i64} 1 : i32
  return
}

// expected-error @+1 {{'func.func' op cannot be partitioned: the sum of the bytes up to node 2}}
func.func @bytes(%x: tensor<1000000000000000000xf32> $in) attributes {commsched.num_forward_outputs = 0} {
  %y = arith.negf %x : tensor<1000000000000000000xf32>
  %z = arith.negf %x : tensor<1000000000000000000xf32>
  return
}
