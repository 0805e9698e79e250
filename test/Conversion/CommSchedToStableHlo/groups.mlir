// What new collectives say about their groups and channels.

// RUN: %rows %s | commsched-opt -split-input-file --convert-commsched-to-stablehlo --mlir-print-op-generic --mlir-print-local-scope \
// RUN:   | FileCheck %s -enable-var-scope --implicit-check-not=commsched

// Partitions: one channel, as JAX prints them.

module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  commsched.group @rows size(4)
  commsched.group @columns size(2) stride(4)
  commsched.group @listed size(2) ranks(dense<[[3, 0], [1, 2], [4, 5], [7, 6]]> : tensor<4x2xi64>)
  // CHECK-LABEL: sym_name = "partitions"
  // CHECK: "stablehlo.all_gather"(%{{.*}}) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}>
  // CHECK: "stablehlo.reduce_scatter"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, scatter_dimension = 1 : i64, use_global_device_ids}>
  // CHECK: "stablehlo.all_to_all"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<{{\[\[}}3, 0], [1, 2], [4, 5], [7, 6]]> : tensor<4x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}>
  // CHECK: "stablehlo.collective_broadcast"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}2, 0, 1, 3], [6, 4, 5, 7]]> : tensor<2x4xi64>}>
  // CHECK: "stablehlo.collective_permute"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<{{\[\[}}3, 0], [0, 3], [1, 2], [2, 1], [4, 5], [5, 4], [7, 6], [6, 7]]> : tensor<8x2xi64>}>
  func.func @partitions(%x: tensor<4x4xf32>) -> (tensor<4x16xf32>, tensor<4x2xf32>, tensor<2x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
    $run(%v1 = all_gather %x on @rows dim(1) : tensor<4x4xf32> -> tensor<4x16xf32>)
    $run(%v3 = reduce_scatter %x on @columns reduction(sum) dim(1) : tensor<4x4xf32> -> tensor<4x2xf32>)
    $run(%v5 = all_to_all %x on @listed split_dim(0) concat_dim(1) : tensor<4x4xf32> -> tensor<2x8xf32>)
    $run(%v7 = broadcast %x on @rows root(2) : tensor<4x4xf32> -> tensor<4x4xf32>)
    $run(%v9 = permute %x on @listed pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>) : tensor<4x4xf32> -> tensor<4x4xf32>)
    return %v1, %v3, %v5, %v7, %v9 : tensor<4x16xf32>, tensor<4x2xf32>, tensor<2x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Replicas: no channel. Without Shardy, what is blocking is variadic.

module attributes {mhlo.num_replicas = 2 : i32} {
  commsched.group @g size(2)
  // CHECK-LABEL: sym_name = "replicas"
  // CHECK: ^bb0(%[[X:.*]]: tensor<4xi1>, %[[Y:.*]]: tensor<3x2xi1>):
  // CHECK-NEXT: %[[R:.*]]:2 = "stablehlo.all_reduce"(%[[X]], %[[Y]]) <{replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>}> ({
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<i1>, %[[B:.*]]: tensor<i1>):
  // CHECK-NEXT: "stablehlo.or"(%[[A]], %[[B]])
  // CHECK: }) : (tensor<4xi1>, tensor<3x2xi1>) -> (tensor<4xi1>, tensor<3x2xi1>)
  // CHECK: "func.return"(%[[R]]#0, %[[R]]#1)
  func.func @replicas(%x: tensor<4xi1>, %y: tensor<3x2xi1>) -> (tensor<4xi1>, tensor<3x2xi1>) {
    %v0 = commsched.all_reduce %x, %y on @g reduction(bor) : tensor<4xi1>, tensor<3x2xi1> -> !commsched.future<tensor<4xi1>, tensor<3x2xi1>>
    %v1:2 = commsched.wait %v0 : !commsched.future<tensor<4xi1>, tensor<3x2xi1>>
    return %v1#0, %v1#1 : tensor<4xi1>, tensor<3x2xi1>
  }
}

// -----

// With other channels in the module, each new collective has its own.

module {
  commsched.group @g size(2) ranks(dense<[[0, 1]]> : tensor<1x2xi64>) {stablehlo.group = {channel_handle = #stablehlo.channel_handle<handle = 4, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}}
  // CHECK-LABEL: sym_name = "channels"
  // CHECK: handle = 9, type = 1>, replica_groups = dense<{{\[\[}}1, 0]]>
  // CHECK: handle = 10, type = 0>, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi32>}>
  // CHECK: handle = 11, type = 0>, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi32>}>
  // CHECK: handle = 6, type = 2>
  func.func @channels(%x: tensor<4xf32>, %token: !stablehlo.token) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    $run(%v1 = all_reduce %x on @g reduction(min) {stablehlo.properties = {channel_handle = #stablehlo.channel_handle<handle = 9, type = 1>, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}} : tensor<4xf32> -> tensor<4xf32>)
    $run(%v3 = all_reduce %x on @g reduction(min) : tensor<4xf32> -> tensor<4xf32>)
    $run(%v5 = all_reduce %x on @g reduction(min) : tensor<4xf32> -> tensor<4xf32>)
    %v6 = "stablehlo.send"(%x, %token) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 2>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    return %v1, %v3, %v5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// One channel in common, which is the group's.

module {
  commsched.group @g size(2) ranks(dense<[[0, 1]]> : tensor<1x2xi64>) {stablehlo.group = {channel_handle = #stablehlo.channel_handle<handle = 4, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}
  // CHECK-LABEL: sym_name = "common_channel"
  // CHECK-COUNT-2: handle = 4, type = 0>
  func.func @common_channel(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    $run(%v1 = all_reduce %x on @g reduction(prod) {stablehlo.properties = {channel_handle = #stablehlo.channel_handle<handle = 4, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : tensor<4xf32> -> tensor<4xf32>)
    $run(%v3 = all_reduce %x on @g reduction(prod) : tensor<4xf32> -> tensor<4xf32>)
    return %v1, %v3 : tensor<4xf32>, tensor<4xf32>
  }
}
