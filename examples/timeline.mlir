// Small enough to follow with a pencil. All costs are pinned, so the report is
// exact:
//
//   commsched-opt --commsched-report=format=json examples/timeline.mlir
//
//   step_time_ns      170   both gathers, then the last addition
//   compute_time_ns   110   60 + 30 + 20
//   comm_time_ns      150   100 + 50
//   exposed_comm_ns    60   40 before the first addition, 20 before the second
//   lower_bound_ns    150   the stream of @dp alone
//   tight_lower_bound_ns
//                     170   and the last addition behind it
//   peak_memory_bytes 22528 when the first addition ends: the arguments
//                           (1024 + 1024 + 4096 bytes) and four tensors of
//                           4096 bytes
//
//   time     0          60       100     130   150     170
//   compute  [ matmul   ]         [ add_a ]     [ add_b ]
//   @dp      [ gather_a           ][ gather_b   ]
commsched.group @dp size(4)

func.func @timeline(%a: tensor<256xf32>, %b: tensor<256xf32>,
                    %x: tensor<1024xf32>) -> tensor<1024xf32> {
  %gather_a = commsched.all_gather %a on @dp dim(0)
      {commsched.name = "gather_a", commsched.runtime_ns = 100 : i64}
      : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
  %y = commsched.compute "aten.mm"(%x)
      {commsched.name = "matmul", commsched.runtime_ns = 60 : i64}
      : (tensor<1024xf32>) -> tensor<1024xf32>
  %gather_b = commsched.all_gather %b on @dp dim(0)
      {commsched.name = "gather_b", commsched.runtime_ns = 50 : i64}
      : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
  %full_a = commsched.wait %gather_a {commsched.name = "wait_a"}
      : !commsched.future<tensor<1024xf32>>
  %z = commsched.compute "aten.add"(%y, %full_a)
      {commsched.name = "add_a", commsched.runtime_ns = 30 : i64}
      : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %full_b = commsched.wait %gather_b {commsched.name = "wait_b"}
      : !commsched.future<tensor<1024xf32>>
  %r = commsched.compute "aten.add"(%z, %full_b)
      {commsched.name = "add_b", commsched.runtime_ns = 20 : i64}
      : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
