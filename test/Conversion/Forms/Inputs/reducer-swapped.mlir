// becomes: commsched.all_reduce reduction(sum)
// The arguments are swapped.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<8xui8>) -> tensor<8xui8> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%p: tensor<ui8>, %q: tensor<ui8>):
      %c = "stablehlo.add"(%q, %p) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
      "stablehlo.return"(%c) : (tensor<ui8>) -> ()
    }) : (tensor<8xui8>) -> tensor<8xui8>
    return %0 : tensor<8xui8>
  }
}
