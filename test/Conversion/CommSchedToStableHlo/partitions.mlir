// A merged blocking collective is variadic in a module of one partition, and
// packed in one of several: XLA's partitioner takes no variadic ones.

// RUN: sed 's/PARTITIONS/1/' %s | commsched-opt --convert-commsched-to-stablehlo \
// RUN:   | FileCheck %s --check-prefix=ONE
// RUN: sed 's/PARTITIONS/2/' %s | commsched-opt --convert-commsched-to-stablehlo \
// RUN:   | FileCheck %s --check-prefix=TWO
// RUN: sed 's/PARTITIONS/2/; s/"stablehlo.negate"(%a)/"stablehlo.custom_call"(%a) <{call_target_name = "Sharding"}>/' %s \
// RUN:   | commsched-opt --convert-commsched-to-stablehlo 2>&1 | FileCheck %s --check-prefix=GSPMD

// GSPMD: warning: 1 asynchronous gather(s) and broadcast(s) become blocking, because the module is sharded for GSPMD

module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = PARTITIONS : i32} {
  commsched.group @pair size(2)

  // ONE-LABEL: func.func @gather(
  // ONE: :2 = "stablehlo.all_gather"(%{{.*}}, %{{.*}})

  // TWO-LABEL: func.func @gather(
  // TWO: "stablehlo.concatenate"
  // TWO: "stablehlo.all_gather"(%{{[^,]*}}) {{.*}}channel_handle = {{.*}} : (tensor<11xf32>) -> tensor<22xf32>
  func.func @gather(%a: tensor<5xf32>, %b: tensor<3x2xf32>) -> (tensor<10xf32>, tensor<6x2xf32>) {
    %f = commsched.all_gather %a, %b on @pair dim(0) : tensor<5xf32>, tensor<3x2xf32> -> !commsched.future<tensor<10xf32>, tensor<6x2xf32>>
    %r:2 = commsched.wait %f : !commsched.future<tensor<10xf32>, tensor<6x2xf32>>
    return %r#0, %r#1 : tensor<10xf32>, tensor<6x2xf32>
  }

  // ONE-LABEL: func.func @reduce(
  // ONE: :2 = "stablehlo.all_reduce"(%{{.*}}, %{{.*}})

  // TWO-LABEL: func.func @reduce(
  // TWO: "stablehlo.concatenate"
  // TWO: "stablehlo.all_reduce"(%{{[^,]*}})
  // TWO: (tensor<11xf32>) -> tensor<11xf32>
  func.func @reduce(%a: tensor<5xf32>, %b: tensor<3x2xf32>) -> (tensor<5xf32>, tensor<3x2xf32>) {
    %f = commsched.all_reduce %a, %b on @pair reduction(sum) : tensor<5xf32>, tensor<3x2xf32> -> !commsched.future<tensor<5xf32>, tensor<3x2xf32>>
    %r:2 = commsched.wait %f : !commsched.future<tensor<5xf32>, tensor<3x2xf32>>
    return %r#0, %r#1 : tensor<5xf32>, tensor<3x2xf32>
  }

  // Of XLA's two partitioners, GSPMD takes no asynchronous gather.

  // ONE-LABEL: func.func @overlapped(
  // ONE: "stablehlo.async_start"
  // ONE: stablehlo.negate

  // TWO-LABEL: func.func @overlapped(
  // TWO: "stablehlo.async_start"
  // TWO: stablehlo.negate

  // GSPMD-LABEL: func.func @overlapped(
  // GSPMD-NOT: async_start
  // GSPMD: "stablehlo.all_gather"
  // GSPMD: "stablehlo.custom_call"
  func.func @overlapped(%a: tensor<5xf32>) -> (tensor<10xf32>, tensor<5xf32>) {
    %f = commsched.all_gather %a on @pair dim(0) : tensor<5xf32> -> !commsched.future<tensor<10xf32>>
    %n = "stablehlo.negate"(%a) : (tensor<5xf32>) -> tensor<5xf32>
    %r = commsched.wait %f : !commsched.future<tensor<10xf32>>
    return %r, %n : tensor<10xf32>, tensor<5xf32>
  }
}
