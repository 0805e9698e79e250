// Written by python/tests/torch_mlir_modules.py.
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[2,16,128],f32>, !torch.vtensor<[128,64],f32>, !torch.vtensor<[128,64],f32>, !torch.vtensor<[128,64],f32>, !torch.vtensor<[64,128],f32>, !torch.vtensor<[128,256],f32>, !torch.vtensor<[256,128],f32>) -> !torch.vtensor<[2,16,128],f32>, sym_name = "main"}> ({
  ^bb0(%arg0: !torch.vtensor<[2,16,128],f32>, %arg1: !torch.vtensor<[128,64],f32>, %arg2: !torch.vtensor<[128,64],f32>, %arg3: !torch.vtensor<[128,64],f32>, %arg4: !torch.vtensor<[64,128],f32>, %arg5: !torch.vtensor<[128,256],f32>, %arg6: !torch.vtensor<[256,128],f32>):
    %0 = "torch.aten.matmul"(%arg0, %arg1) : (!torch.vtensor<[2,16,128],f32>, !torch.vtensor<[128,64],f32>) -> !torch.vtensor<[2,16,64],f32>
    %1 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %2 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %3 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %4 = "torch.constant.int"() <{value = 32 : i64}> : () -> !torch.int
    %5 = "torch.prim.ListConstruct"(%1, %2, %3, %4) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %6 = "torch.aten.view"(%0, %5) : (!torch.vtensor<[2,16,64],f32>, !torch.list<int>) -> !torch.vtensor<[2,16,2,32],f32>
    %7 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %8 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %9 = "torch.aten.transpose.int"(%6, %7, %8) : (!torch.vtensor<[2,16,2,32],f32>, !torch.int, !torch.int) -> !torch.vtensor<[2,2,16,32],f32>
    %10 = "torch.aten.matmul"(%arg0, %arg2) : (!torch.vtensor<[2,16,128],f32>, !torch.vtensor<[128,64],f32>) -> !torch.vtensor<[2,16,64],f32>
    %11 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %12 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %13 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %14 = "torch.constant.int"() <{value = 32 : i64}> : () -> !torch.int
    %15 = "torch.prim.ListConstruct"(%11, %12, %13, %14) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %16 = "torch.aten.view"(%10, %15) : (!torch.vtensor<[2,16,64],f32>, !torch.list<int>) -> !torch.vtensor<[2,16,2,32],f32>
    %17 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %18 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %19 = "torch.aten.transpose.int"(%16, %17, %18) : (!torch.vtensor<[2,16,2,32],f32>, !torch.int, !torch.int) -> !torch.vtensor<[2,2,16,32],f32>
    %20 = "torch.aten.matmul"(%arg0, %arg3) : (!torch.vtensor<[2,16,128],f32>, !torch.vtensor<[128,64],f32>) -> !torch.vtensor<[2,16,64],f32>
    %21 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %22 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %23 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %24 = "torch.constant.int"() <{value = 32 : i64}> : () -> !torch.int
    %25 = "torch.prim.ListConstruct"(%21, %22, %23, %24) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %26 = "torch.aten.view"(%20, %25) : (!torch.vtensor<[2,16,64],f32>, !torch.list<int>) -> !torch.vtensor<[2,16,2,32],f32>
    %27 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %28 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %29 = "torch.aten.transpose.int"(%26, %27, %28) : (!torch.vtensor<[2,16,2,32],f32>, !torch.int, !torch.int) -> !torch.vtensor<[2,2,16,32],f32>
    %30 = "torch.constant.none"() : () -> !torch.none
    %31 = "torch.constant.float"() <{value = 0.000000e+00 : f64}> : () -> !torch.float
    %32 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %33 = "torch.constant.none"() : () -> !torch.none
    %34 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %35 = "torch.aten.scaled_dot_product_attention"(%9, %19, %29, %30, %31, %32, %33, %34) : (!torch.vtensor<[2,2,16,32],f32>, !torch.vtensor<[2,2,16,32],f32>, !torch.vtensor<[2,2,16,32],f32>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[2,2,16,32],f32>
    %36 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %37 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %38 = "torch.aten.transpose.int"(%35, %36, %37) : (!torch.vtensor<[2,2,16,32],f32>, !torch.int, !torch.int) -> !torch.vtensor<[2,16,2,32],f32>
    %39 = "torch.constant.int"() <{value = 2 : i64}> : () -> !torch.int
    %40 = "torch.constant.int"() <{value = 16 : i64}> : () -> !torch.int
    %41 = "torch.constant.int"() <{value = 64 : i64}> : () -> !torch.int
    %42 = "torch.prim.ListConstruct"(%39, %40, %41) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %43 = "torch.aten.reshape"(%38, %42) : (!torch.vtensor<[2,16,2,32],f32>, !torch.list<int>) -> !torch.vtensor<[2,16,64],f32>
    %44 = "torch.aten.matmul"(%43, %arg4) : (!torch.vtensor<[2,16,64],f32>, !torch.vtensor<[64,128],f32>) -> !torch.vtensor<[2,16,128],f32>
    %45 = "torch.constant.str"() <{value = "sum"}> : () -> !torch.str
    %46 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %47 = "torch.operator"(%44, %45, %46) <{name = "torch._c10d_functional.all_reduce"}> : (!torch.vtensor<[2,16,128],f32>, !torch.str, !torch.str) -> !torch.vtensor<[2,16,128],f32>
    %48 = "torch.operator"(%47) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[2,16,128],f32>) -> !torch.vtensor<[2,16,128],f32>
    %49 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %50 = "torch.aten.add.Tensor"(%arg0, %48, %49) : (!torch.vtensor<[2,16,128],f32>, !torch.vtensor<[2,16,128],f32>, !torch.int) -> !torch.vtensor<[2,16,128],f32>
    %51 = "torch.constant.int"() <{value = 128 : i64}> : () -> !torch.int
    %52 = "torch.prim.ListConstruct"(%51) : (!torch.int) -> !torch.list<int>
    %53 = "torch.constant.none"() : () -> !torch.none
    %54 = "torch.constant.none"() : () -> !torch.none
    %55 = "torch.constant.float"() <{value = 1.000000e-05 : f64}> : () -> !torch.float
    %56 = "torch.constant.bool"() <{value = false}> : () -> !torch.bool
    %57 = "torch.aten.layer_norm"(%50, %52, %53, %54, %55, %56) : (!torch.vtensor<[2,16,128],f32>, !torch.list<int>, !torch.none, !torch.none, !torch.float, !torch.bool) -> !torch.vtensor<[2,16,128],f32>
    %58 = "torch.aten.matmul"(%57, %arg5) : (!torch.vtensor<[2,16,128],f32>, !torch.vtensor<[128,256],f32>) -> !torch.vtensor<[2,16,256],f32>
    %59 = "torch.aten.silu"(%58) : (!torch.vtensor<[2,16,256],f32>) -> !torch.vtensor<[2,16,256],f32>
    %60 = "torch.aten.matmul"(%59, %arg6) : (!torch.vtensor<[2,16,256],f32>, !torch.vtensor<[256,128],f32>) -> !torch.vtensor<[2,16,128],f32>
    %61 = "torch.constant.str"() <{value = "sum"}> : () -> !torch.str
    %62 = "torch.constant.str"() <{value = "0"}> : () -> !torch.str
    %63 = "torch.operator"(%60, %61, %62) <{name = "torch._c10d_functional.all_reduce"}> : (!torch.vtensor<[2,16,128],f32>, !torch.str, !torch.str) -> !torch.vtensor<[2,16,128],f32>
    %64 = "torch.operator"(%63) <{name = "torch._c10d_functional.wait_tensor"}> : (!torch.vtensor<[2,16,128],f32>) -> !torch.vtensor<[2,16,128],f32>
    %65 = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
    %66 = "torch.aten.add.Tensor"(%57, %64, %65) : (!torch.vtensor<[2,16,128],f32>, !torch.vtensor<[2,16,128],f32>, !torch.int) -> !torch.vtensor<[2,16,128],f32>
    "func.return"(%66) : (!torch.vtensor<[2,16,128],f32>) -> ()
  }) : () -> ()
}) : () -> ()
