// Written by python/tests/torch_mlir_modules.py.
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[256,512],f32>, !torch.vtensor<[128,512],f32>, !torch.vtensor<[128,512],f32>) -> (!torch.vtensor<[128,512],f32>, !torch.vtensor<[128,512],f32>), sym_name = "main"}> ({
  ^bb0(%arg0: !torch.vtensor<[256,512],f32>, %arg1: !torch.vtensor<[128,512],f32>, %arg2: !torch.vtensor<[128,512],f32>):
    %0 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %1 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %2 = "torch.operator"(%arg1, %0, %1) <{name = "torch._c10d_functional.all_gather_into_tensor"}> : (!torch.vtensor<[128,512],f32>, !torch.int, !torch.str) -> !torch.vtensor<[512,512],f32>
    %3 = "torch.operator"(%2) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[512,512],f32>) -> !torch.vtensor<[512,512],f32>
    %4 = "torch.constant.none"() : () -> !torch.none
    %5 = "torch.aten.linear"(%arg0, %3, %4) : (!torch.vtensor<[256,512],f32>, !torch.vtensor<[512,512],f32>, !torch.none) -> !torch.vtensor<[256,512],f32>
    %6 = "torch.aten.relu"(%5) : (!torch.vtensor<[256,512],f32>) -> !torch.vtensor<[256,512],f32>
    %7 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %8 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %9 = "torch.operator"(%arg2, %7, %8) <{name = "torch._c10d_functional.all_gather_into_tensor"}> : (!torch.vtensor<[128,512],f32>, !torch.int, !torch.str) -> !torch.vtensor<[512,512],f32>
    %10 = "torch.operator"(%9) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[512,512],f32>) -> !torch.vtensor<[512,512],f32>
    %11 = "torch.constant.none"() : () -> !torch.none
    %12 = "torch.aten.linear"(%6, %10, %11) : (!torch.vtensor<[256,512],f32>, !torch.vtensor<[512,512],f32>, !torch.none) -> !torch.vtensor<[256,512],f32>
    %13 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %14 = "torch.aten.sub.Tensor"(%12, %arg0, %13) : (!torch.vtensor<[256,512],f32>, !torch.vtensor<[256,512],f32>, !torch.int) -> !torch.vtensor<[256,512],f32>
    %15 = "torch.aten.t"(%14) : (!torch.vtensor<[256,512],f32>) -> !torch.vtensor<[512,256],f32>
    %16 = "torch.aten.mm"(%15, %6) : (!torch.vtensor<[512,256],f32>, !torch.vtensor<[256,512],f32>) -> !torch.vtensor<[512,512],f32>
    %17 = "torch.constant.str"() <{value = "avg"}> : () -> !torch.str
    %18 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %19 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %20 = "torch.operator"(%16, %17, %18, %19) <{name = "torch._c10d_functional.reduce_scatter_tensor"}> : (!torch.vtensor<[512,512],f32>, !torch.str, !torch.int, !torch.str) -> !torch.vtensor<[128,512],f32>
    %21 = "torch.operator"(%20) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[128,512],f32>) -> !torch.vtensor<[128,512],f32>
    %22 = "torch.aten.mm"(%14, %10) : (!torch.vtensor<[256,512],f32>, !torch.vtensor<[512,512],f32>) -> !torch.vtensor<[256,512],f32>
    %23 = "torch.constant.int"() <{value = 0 : i64}> : () -> !torch.int
    %24 = "torch.aten.gt.Scalar"(%6, %23) : (!torch.vtensor<[256,512],f32>, !torch.int) -> !torch.vtensor<[256,512],i1>
    %25 = "torch.aten.mul.Tensor"(%22, %24) : (!torch.vtensor<[256,512],f32>, !torch.vtensor<[256,512],i1>) -> !torch.vtensor<[256,512],f32>
    %26 = "torch.aten.t"(%25) : (!torch.vtensor<[256,512],f32>) -> !torch.vtensor<[512,256],f32>
    %27 = "torch.aten.mm"(%26, %arg0) : (!torch.vtensor<[512,256],f32>, !torch.vtensor<[256,512],f32>) -> !torch.vtensor<[512,512],f32>
    %28 = "torch.constant.str"() <{value = "avg"}> : () -> !torch.str
    %29 = "torch.constant.int"() <{value = 4 : i64}> : () -> !torch.int
    %30 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %31 = "torch.operator"(%27, %28, %29, %30) <{name = "torch._c10d_functional.reduce_scatter_tensor"}> : (!torch.vtensor<[512,512],f32>, !torch.str, !torch.int, !torch.str) -> !torch.vtensor<[128,512],f32>
    %32 = "torch.operator"(%31) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[128,512],f32>) -> !torch.vtensor<[128,512],f32>
    %33 = "torch.constant.float"() <{value = 1.000000e-01 : f64}> : () -> !torch.float
    %34 = "torch.aten.mul.Scalar"(%32, %33) : (!torch.vtensor<[128,512],f32>, !torch.float) -> !torch.vtensor<[128,512],f32>
    %35 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %36 = "torch.aten.sub.Tensor"(%arg1, %34, %35) : (!torch.vtensor<[128,512],f32>, !torch.vtensor<[128,512],f32>, !torch.int) -> !torch.vtensor<[128,512],f32>
    %37 = "torch.constant.float"() <{value = 1.000000e-01 : f64}> : () -> !torch.float
    %38 = "torch.aten.mul.Scalar"(%21, %37) : (!torch.vtensor<[128,512],f32>, !torch.float) -> !torch.vtensor<[128,512],f32>
    %39 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %40 = "torch.aten.sub.Tensor"(%arg2, %38, %39) : (!torch.vtensor<[128,512],f32>, !torch.vtensor<[128,512],f32>, !torch.int) -> !torch.vtensor<[128,512],f32>
    "func.return"(%36, %40) : (!torch.vtensor<[128,512],f32>, !torch.vtensor<[128,512],f32>) -> ()
  }) : () -> ()
}) : () -> ()
