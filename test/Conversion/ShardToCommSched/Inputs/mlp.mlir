// A feed-forward layer on a grid of 2 replicas of 4 devices, as its author
// annotates it: the rows of the input along axis 0, the columns of the first
// matrix and the rows of the second along axis 1, the result everywhere.

!t = tensor<8x16xf32>
!u = tensor<8x64xf32>

shard.grid @grid(shape = 2x4)

func.func @mlp(%x: !t, %up: tensor<16x64xf32>, %down: tensor<64x16xf32>) -> !t {
  %by_rows = shard.sharding @grid split_axes = [[0], []] : !shard.sharding
  %by_columns = shard.sharding @grid split_axes = [[], [1]] : !shard.sharding
  %by_inner = shard.sharding @grid split_axes = [[1], []] : !shard.sharding
  %everywhere = shard.sharding @grid split_axes = [[], []] : !shard.sharding

  %x0 = shard.shard %x to %by_rows : !t
  %x1 = shard.shard %x0 to %by_rows annotate_for_users : !t
  %up0 = shard.shard %up to %by_columns : tensor<16x64xf32>
  %up1 = shard.shard %up0 to %by_columns annotate_for_users : tensor<16x64xf32>
  %down0 = shard.shard %down to %by_inner : tensor<64x16xf32>
  %down1 = shard.shard %down0 to %by_inner annotate_for_users : tensor<64x16xf32>

  %zero = arith.constant 0.0 : f32
  %h0 = tensor.empty() : !u
  %h1 = linalg.fill ins(%zero : f32) outs(%h0 : !u) -> !u
  %h = linalg.matmul ins(%x1, %up1 : !t, tensor<16x64xf32>) outs(%h1 : !u) -> !u
  %y0 = tensor.empty() : !t
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !t) -> !t
  %y = linalg.matmul ins(%h, %down1 : !u, tensor<64x16xf32>) outs(%y1 : !t) -> !t

  %r0 = shard.shard %y to %everywhere : !t
  %r1 = shard.shard %r0 to %everywhere annotate_for_users : !t
  return %r1 : !t
}
