// A tour of the dialect: each operation and each spelling of its syntax.
//
//   commsched-opt --verify-roundtrip examples/collectives.mlir

// Consecutive ranks: {0..7}, {8..15}, ...
commsched.group @dp size(8)
// Eight nodes of eight ranks.
commsched.group @world size(64) ranks_per_node(8)
// One rank of every node: {0, 8, .., 56}, {1, 9, .., 57}, ...
commsched.group @across_nodes size(8) ranks_per_node(1) stride(8)
// Members in an order that no stride describes, a row for each group.
commsched.group @pairs size(2) ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)

// Every rank holds an eighth of the weight and wants all of it.
func.func @gather_weight(%shard: tensor<512x4096xbf16>)
    -> tensor<4096x4096xbf16> {
  %future = commsched.all_gather %shard on @dp dim(0)
      : tensor<512x4096xbf16> -> !commsched.future<tensor<4096x4096xbf16>>
  %weight = commsched.wait %future : !commsched.future<tensor<4096x4096xbf16>>
  return %weight : tensor<4096x4096xbf16>
}

// Every rank holds a gradient of the whole weight and wants an eighth of the
// mean.
func.func @scatter_gradient(%grad: tensor<4096x4096xf32>)
    -> tensor<512x4096xf32> {
  %future = commsched.reduce_scatter %grad on @dp reduction(avg) dim(0)
      : tensor<4096x4096xf32> -> !commsched.future<tensor<512x4096xf32>>
  %shard = commsched.wait %future : !commsched.future<tensor<512x4096xf32>>
  return %shard : tensor<512x4096xf32>
}

// Four collectives in flight at once, on two streams.
func.func @whole_group(%x: tensor<64x128xf32>) -> (
    tensor<64x128xf32>, tensor<1x8192xf32>, tensor<64x128xf32>,
    tensor<64x128xf32>) {
  %sum = commsched.all_reduce %x on @world reduction(sum)
      : tensor<64x128xf32> -> !commsched.future<tensor<64x128xf32>>
  %exchange = commsched.all_to_all %x on @world split_dim(0) concat_dim(1)
      : tensor<64x128xf32> -> !commsched.future<tensor<1x8192xf32>>
  %from_root = commsched.broadcast %x on @world root(0)
      : tensor<64x128xf32> -> !commsched.future<tensor<64x128xf32>>
  %from_peer = commsched.permute %x on @dp
      pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
      : tensor<64x128xf32> -> !commsched.future<tensor<64x128xf32>>
  %0 = commsched.wait %sum : !commsched.future<tensor<64x128xf32>>
  %1 = commsched.wait %exchange : !commsched.future<tensor<1x8192xf32>>
  %2 = commsched.wait %from_root : !commsched.future<tensor<64x128xf32>>
  %3 = commsched.wait %from_peer : !commsched.future<tensor<64x128xf32>>
  commsched.barrier on @world
  return %0, %1, %2, %3 : tensor<64x128xf32>, tensor<1x8192xf32>,
      tensor<64x128xf32>, tensor<64x128xf32>
}

// A pipeline stage hands its activations on and takes those of its neighbour.
// Tags tell the two directions apart.
func.func @neighbours(%x: tensor<64xf32>) -> tensor<64xf32> {
  %out = commsched.send %x on @across_nodes to(1) tag(7)
      : tensor<64xf32> -> !commsched.future
  %in = commsched.recv on @across_nodes from(1) tag(8)
      : !commsched.future<tensor<64xf32>>
  commsched.wait %out : !commsched.future
  %y = commsched.wait %in : !commsched.future<tensor<64xf32>>
  return %y : tensor<64xf32>
}

// Tokens to the experts of another rank and back: how many go where differs.
func.func @route_tokens(%tokens: tensor<10x16xbf16>) -> tensor<12x16xbf16> {
  %future = commsched.all_to_all %tokens on @pairs split_dim(0) concat_dim(0)
      input_splits([3, 7]) output_splits([5, 7])
      : tensor<10x16xbf16> -> !commsched.future<tensor<12x16xbf16>>
  %routed = commsched.wait %future : !commsched.future<tensor<12x16xbf16>>
  return %routed : tensor<12x16xbf16>
}

// Two tensors, even of different element types, in one launch.
func.func @coalesced(%a: tensor<128xf32>, %b: tensor<64xbf16>)
    -> (tensor<1024xf32>, tensor<512xbf16>) {
  %future = commsched.all_gather %a, %b on @dp dim(0)
      : tensor<128xf32>, tensor<64xbf16>
        -> !commsched.future<tensor<1024xf32>, tensor<512xbf16>>
  %0:2 = commsched.wait %future
      : !commsched.future<tensor<1024xf32>, tensor<512xbf16>>
  return %0#0, %0#1 : tensor<1024xf32>, tensor<512xbf16>
}

// The same bucket by copies: one contiguous buffer, gathered in place.
func.func @bucket_of_gathers(%a: tensor<16x32xbf16>, %b: tensor<8x8xbf16>)
    -> (tensor<128x32xbf16>, tensor<64x8xbf16>) {
  %slice, %buffer = commsched.all_gather_copy_in %a, %b on @dp
      : tensor<16x32xbf16>, tensor<8x8xbf16>
        -> tensor<576xbf16>, tensor<4608xbf16>
  %future = commsched.all_gather %slice on @dp dim(0) into %buffer
      : tensor<576xbf16> into tensor<4608xbf16>
        -> !commsched.future<tensor<4608xbf16>>
  %gathered = commsched.wait %future : !commsched.future<tensor<4608xbf16>>
  %full:2 = commsched.split_with_sizes_copy %gathered on @dp
      : tensor<4608xbf16> -> tensor<128x32xbf16>, tensor<64x8xbf16>
  return %full#0, %full#1 : tensor<128x32xbf16>, tensor<64x8xbf16>
}

// Gradients travel in one buffer too, widened before they are added up.
func.func @bucket_of_scatters(%a: tensor<128x32xbf16>, %b: tensor<64x8xbf16>)
    -> tensor<576xf32> {
  %buffer = commsched.chunk_cat %a, %b on @dp
      : tensor<128x32xbf16>, tensor<64x8xbf16> -> tensor<4608xf32>
  %future = commsched.reduce_scatter %buffer on @dp reduction(avg) dim(0)
      : tensor<4608xf32> -> !commsched.future<tensor<576xf32>>
  %shards = commsched.wait %future : !commsched.future<tensor<576xf32>>
  return %shards : tensor<576xf32>
}

// A parameter that has storage only while it is needed.
func.func @unsharded_parameter(
    %p: memref<4096x4096xbf16> {commsched.role = "unsharded_param"},
    %full: tensor<4096x4096xbf16> {commsched.freeable},
    %x: tensor<16x4096xbf16> {commsched.role = "input"})
    -> tensor<16x4096xbf16> {
  commsched.resize_storage %p bytes(33554432) : memref<4096x4096xbf16>
  commsched.fsdp_copy %full into %p
      : tensor<4096x4096xbf16>, memref<4096x4096xbf16>
  %w = bufferization.to_tensor %p
      : memref<4096x4096xbf16> to tensor<4096x4096xbf16>
  %y = commsched.compute "aten.mm"(%x, %w) {flops = 536870912.0 : f64}
      : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<16x4096xbf16>
  commsched.resize_storage %p bytes(0) : memref<4096x4096xbf16>
  return %y : tensor<16x4096xbf16>
}
