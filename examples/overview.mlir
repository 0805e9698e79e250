// The step of docs/OVERVIEW.md: two layers with sharded weights, and the
// gradient of the second weight. Every collective is waited for at once, as in
// a graph traced from PyTorch. The costs are pinned.
commsched.group @dp size(4)

func.func @step(%shard0: tensor<256x1024xf32>, %shard1: tensor<256x1024xf32>,
                %x: tensor<1024x1024xf32>, %dy: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<256x1024xf32>) {
  %gather0 = commsched.all_gather %shard0 on @dp dim(0)
      {commsched.name = "gather0", commsched.runtime_ns = 40000 : i64}
      : tensor<256x1024xf32> -> !commsched.future<tensor<1024x1024xf32>>
  %w0 = commsched.wait %gather0 : !commsched.future<tensor<1024x1024xf32>>
  %h0 = commsched.compute "aten.mm"(%x, %w0)
      {commsched.name = "mm0", commsched.runtime_ns = 100000 : i64}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %gather1 = commsched.all_gather %shard1 on @dp dim(0)
      {commsched.name = "gather1", commsched.runtime_ns = 40000 : i64}
      : tensor<256x1024xf32> -> !commsched.future<tensor<1024x1024xf32>>
  %w1 = commsched.wait %gather1 : !commsched.future<tensor<1024x1024xf32>>
  %dw1 = commsched.compute "aten.mm"(%h0, %dy)
      {commsched.name = "mm_dw1", commsched.runtime_ns = 100000 : i64}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %scatter1 = commsched.reduce_scatter %dw1 on @dp reduction(avg) dim(0)
      {commsched.name = "scatter1", commsched.runtime_ns = 50000 : i64}
      : tensor<1024x1024xf32> -> !commsched.future<tensor<256x1024xf32>>
  %dshard1 = commsched.wait %scatter1 : !commsched.future<tensor<256x1024xf32>>
  %dx = commsched.compute "aten.mm"(%dy, %w1)
      {commsched.name = "mm_dx", commsched.runtime_ns = 100000 : i64}
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %dx, %dshard1 : tensor<1024x1024xf32>, tensor<256x1024xf32>
}
