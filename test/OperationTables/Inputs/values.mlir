func.func @lists(%x: !torch.vtensor<[8,8],f32>, %list: !torch.list<vtensor>)
    -> (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>) {
  %made = "torch.prim.ListConstruct"(%x, %x) : (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>) -> !torch.list<vtensor>
  %0:2 = "torch.prim.ListUnpack"(%made) : (!torch.list<vtensor>) -> (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>)
  %1 = "torch.prim.ListUnpack"(%list) : (!torch.list<vtensor>) -> !torch.vtensor<[8,8],f32>
  %2 = "torch.aten.relu"(%0#1) : (!torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
  %3 = "torch.operator"(%x) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
  return %1, %2, %3 : !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>
}

func.func @mutable(%x: !torch.tensor<[8,8],f32>, %y: !torch.vtensor<[8,8],f32>)
    -> (!torch.tensor<[8,8],f32>, !torch.tensor<[8,8],f32>) {
  %0 = "torch.aten.relu"(%x) : (!torch.tensor<[8,8],f32>) -> !torch.tensor<[8,8],f32>
  "torch.overwrite.tensor.contents"(%y, %x) : (!torch.vtensor<[8,8],f32>, !torch.tensor<[8,8],f32>) -> ()
  %1 = "torch.aten.relu"(%x) : (!torch.tensor<[8,8],f32>) -> !torch.tensor<[8,8],f32>
  return %0, %1 : !torch.tensor<[8,8],f32>, !torch.tensor<[8,8],f32>
}

func.func @reduced(%x: !torch.vtensor<[8,8],f32>, %sum: !torch.str) -> !torch.vtensor<[8,8],f32> {
  %group = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
  %0 = "torch.operator"(%x, %sum, %group) <{name = "torch._c10d_functional.all_reduce"}> : (!torch.vtensor<[8,8],f32>, !torch.str, !torch.str) -> !torch.vtensor<[8,8],f32>
  %1 = "torch.operator"(%0) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
  return %1 : !torch.vtensor<[8,8],f32>
}
