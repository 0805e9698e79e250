// Loops whose numbers of iterations are read when they run: 0, 1, 2, 3, 4, 5
// and 7.

commsched.group @all size(4)

func.func @step(%shards: tensor<7x2x4xf32> {commsched.role = "parameter"},
                %x: tensor<8x4xf32> {commsched.role = "input"})
    -> (tensor<7x8x4xf32>, tensor<7x7x2x4xf32>) {
  %counts = arith.constant dense<[0, 1, 2, 3, 4, 5, 7]> : tensor<7xindex>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %ys0 = arith.constant dense<0.0> : tensor<7x8x4xf32>
  %sums0 = arith.constant dense<0.0> : tensor<7x7x2x4xf32>
  %zeros = arith.constant dense<0.0> : tensor<7x2x4xf32>
  %ys, %sums = scf.for %k = %c0 to %c7 step %c1
      iter_args(%ys1 = %ys0, %sums1 = %sums0)
      -> (tensor<7x8x4xf32>, tensor<7x7x2x4xf32>) {
    %n = tensor.extract %counts[%k] : tensor<7xindex>
    %y, %reduced = scf.for %i = %c0 to %n step %c1
        iter_args(%a = %x, %s = %zeros) -> (tensor<8x4xf32>, tensor<7x2x4xf32>) {
      %shard = tensor.extract_slice %shards[%i, 0, 0] [1, 2, 4] [1, 1, 1] {commsched.runtime_ns = 0 : i64}
          : tensor<7x2x4xf32> to tensor<2x4xf32>
      %gathering = commsched.all_gather %shard on @all dim(0) {commsched.runtime_ns = 80 : i64}
          : tensor<2x4xf32> -> !commsched.future<tensor<8x4xf32>>
      %w = commsched.wait %gathering : !commsched.future<tensor<8x4xf32>>
      %b = arith.addf %a, %w {commsched.runtime_ns = 200 : i64} : tensor<8x4xf32>
      %scattering = commsched.reduce_scatter %b on @all reduction(sum) dim(0) {commsched.runtime_ns = 90 : i64}
          : tensor<8x4xf32> -> !commsched.future<tensor<2x4xf32>>
      %part = commsched.wait %scattering : !commsched.future<tensor<2x4xf32>>
      %t = tensor.insert_slice %part into %s[%i, 0, 0] [1, 2, 4] [1, 1, 1] {commsched.runtime_ns = 0 : i64}
          : tensor<2x4xf32> into tensor<7x2x4xf32>
      scf.yield %b, %t : tensor<8x4xf32>, tensor<7x2x4xf32>
    }
    %ys2 = tensor.insert_slice %y into %ys1[%k, 0, 0] [1, 8, 4] [1, 1, 1]
        : tensor<8x4xf32> into tensor<7x8x4xf32>
    %sums2 = tensor.insert_slice %reduced into %sums1[%k, 0, 0, 0] [1, 7, 2, 4] [1, 1, 1, 1]
        : tensor<7x2x4xf32> into tensor<7x7x2x4xf32>
    scf.yield %ys2, %sums2 : tensor<7x8x4xf32>, tensor<7x7x2x4xf32>
  }
  return %ys, %sums : tensor<7x8x4xf32>, tensor<7x7x2x4xf32>
}
