// Written by python/tests/torch_mlir_modules.py.
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>) -> (!torch.vtensor<[32,8],f32>, !torch.vtensor<[32,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[2,8],f32>, !torch.vtensor<[2,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>), sym_name = "main"}> ({
  ^bb0(%arg0: !torch.vtensor<[8,8],f32>, %arg1: !torch.vtensor<[8,8],f32>):
    %0 = "torch.prim.ListConstruct"(%arg0, %arg1) : (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>) -> !torch.list<vtensor>
    %1 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %2 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %3 = "torch.operator"(%0, %1, %2) <{name = "torch._c10d_functional.all_gather_into_tensor_coalesced"}> : (!torch.list<vtensor>, !torch.int, !torch.str) -> !torch.list<vtensor>
    %4:2 = "torch.prim.ListUnpack"(%3) : (!torch.list<vtensor>) -> (!torch.vtensor<[32,8],f32>, !torch.vtensor<[32,8],f32>)
    %5 = "torch.prim.ListConstruct"(%arg0, %arg1) : (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>) -> !torch.list<vtensor>
    %6 = "torch.constant.str"() <{value = "max"}> : () -> !torch.str
    %7 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %8 = "torch.operator"(%5, %6, %7) <{name = "torch._c10d_functional.all_reduce_coalesced"}> : (!torch.list<vtensor>, !torch.str, !torch.str) -> !torch.list<vtensor>
    %9:2 = "torch.prim.ListUnpack"(%8) : (!torch.list<vtensor>) -> (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>)
    %10 = "torch.prim.ListConstruct"(%arg0, %arg1) : (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>) -> !torch.list<vtensor>
    %11 = "torch.constant.str"() <{value = "sum"}> : () -> !torch.str
    %12 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %13 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %14 = "torch.operator"(%10, %11, %12, %13) <{name = "torch._c10d_functional.reduce_scatter_tensor_coalesced"}> : (!torch.list<vtensor>, !torch.str, !torch.int, !torch.str) -> !torch.list<vtensor>
    %15:2 = "torch.prim.ListUnpack"(%14) : (!torch.list<vtensor>) -> (!torch.vtensor<[2,8],f32>, !torch.vtensor<[2,8],f32>)
    %16 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %17 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %18 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %19 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %20 = "torch.prim.ListConstruct"(%16, %17, %18, %19) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %21 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %22 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %23 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %24 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %25 = "torch.prim.ListConstruct"(%21, %22, %23, %24) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %26 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %27 = "torch.operator"(%arg0, %20, %25, %26) <{name = "torch._c10d_functional.all_to_all_single"}> : (!torch.vtensor<[8,8],f32>, !torch.list<int>, !torch.list<int>, !torch.str) -> !torch.vtensor<[8,8],f32>
    %28 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %29 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %30 = "torch.operator"(%arg1, %28, %29) <{name = "torch._c10d_functional.broadcast"}> : (!torch.vtensor<[8,8],f32>, !torch.int, !torch.str) -> !torch.vtensor<[8,8],f32>
    %31 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %32 = "torch.aten.unsqueeze"(%arg0, %31) : (!torch.vtensor<[8,8],f32>, !torch.int) -> !torch.vtensor<[1,8,8],f32>
    %33 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %34 = "torch.aten.unsqueeze"(%arg0, %33) : (!torch.vtensor<[8,8],f32>, !torch.int) -> !torch.vtensor<[1,8,8],f32>
    %35 = "torch.operator"(%34) <{name = "torch.aten.mT"}> : (!torch.vtensor<[1,8,8],f32>) -> !torch.vtensor<[1,8,8],f32>
    %36 = "torch.aten.bmm"(%32, %35) : (!torch.vtensor<[1,8,8],f32>, !torch.vtensor<[1,8,8],f32>) -> !torch.vtensor<[1,8,8],f32>
    %37 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %38 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %39 = "torch.aten.select.int"(%36, %37, %38) : (!torch.vtensor<[1,8,8],f32>, !torch.int, !torch.int) -> !torch.vtensor<[8,8],f32>
    %40 = "torch.operator"(%39) <{name = "torch.aten.mT"}> : (!torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
    %41 = "torch.aten.matmul"(%40, %arg0) : (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
    %42 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %43 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %44 = "torch.aten.addmm"(%arg1, %arg0, %41, %42, %43) : (!torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>, !torch.int, !torch.int) -> !torch.vtensor<[8,8],f32>
    %45 = "torch.operator"(%4#0) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[32,8],f32>) -> !torch.vtensor<[32,8],f32>
    %46 = "torch.operator"(%4#1) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[32,8],f32>) -> !torch.vtensor<[32,8],f32>
    %47 = "torch.operator"(%9#0) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
    %48 = "torch.operator"(%9#1) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
    %49 = "torch.operator"(%15#0) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[2,8],f32>) -> !torch.vtensor<[2,8],f32>
    %50 = "torch.operator"(%15#1) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[2,8],f32>) -> !torch.vtensor<[2,8],f32>
    %51 = "torch.operator"(%27) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
    %52 = "torch.operator"(%30) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[8,8],f32>) -> !torch.vtensor<[8,8],f32>
    "func.return"(%45, %46, %47, %48, %49, %50, %51, %52, %44) : (!torch.vtensor<[32,8],f32>, !torch.vtensor<[32,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[2,8],f32>, !torch.vtensor<[2,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8,8],f32>) -> ()
  }) : () -> ()
}) : () -> ()
