"builtin.module"() <{sym_name = "jit_local_step"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["fsdp"=2]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "fsdp", size = 2 : i64}]}} : () -> ()
  "func.func"() <{arg_attrs = [{jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}]>}, {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}], function_type = (tensor<512x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128x448xf32>, tensor<448x128xf32>, tensor<128x448xf32>, tensor<128x32xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<128x512xf32>, tensor<2x32xi32>, tensor<2x32xi32>) -> (tensor<512x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128x448xf32>, tensor<448x128xf32>, tensor<128x448xf32>, tensor<128x32xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<128x512xf32>, tensor<f32>), res_attrs = [{jax.result_info = "result[0][0]['embedding']"}, {jax.result_info = "result[0][0]['layers'][0]['attention_norm']"}, {jax.result_info = "result[0][0]['layers'][0]['ffn_norm']"}, {jax.result_info = "result[0][0]['layers'][0]['w1']"}, {jax.result_info = "result[0][0]['layers'][0]['w2']"}, {jax.result_info = "result[0][0]['layers'][0]['w3']"}, {jax.result_info = "result[0][0]['layers'][0]['wk']"}, {jax.result_info = "result[0][0]['layers'][0]['wo']"}, {jax.result_info = "result[0][0]['layers'][0]['wq']"}, {jax.result_info = "result[0][0]['layers'][0]['wv']"}, {jax.result_info = "result[0][0]['norm']"}, {jax.result_info = "result[0][0]['output']"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg13: tensor<512x128xf32>, %arg14: tensor<128xf32>, %arg15: tensor<128xf32>, %arg16: tensor<128x448xf32>, %arg17: tensor<448x128xf32>, %arg18: tensor<128x448xf32>, %arg19: tensor<128x32xf32>, %arg20: tensor<128x128xf32>, %arg21: tensor<128x128xf32>, %arg22: tensor<128x32xf32>, %arg23: tensor<128xf32>, %arg24: tensor<128x512xf32>, %arg25: tensor<2x32xi32>, %arg26: tensor<2x32xi32>):
    %17 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 0.193922743, 0.0376060307, 0.00729266461, 0.00141421356, 2.74248188E-4, 5.3182961E-5, 1.03133862E-5]> : tensor<8xf32>}> : () -> tensor<8xf32>
    %18 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 0.193922743, 0.0376060307, 0.00729266461, 0.00141421356, 2.74248188E-4, 5.3182961E-5, 1.03133862E-5]> : tensor<8xf32>}> : () -> tensor<8xf32>
    %19:13 = "sdy.manual_computation"(%17, %18, %arg13, %arg14, %arg15, %arg16, %arg17, %arg18, %arg19, %arg20, %arg21, %arg22, %arg23, %arg24, %arg25, %arg26) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}]>, <@mesh, [{"fsdp"}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>]>, manual_axes = #sdy<manual_axes{"fsdp"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}]>, <@mesh, [{"fsdp"}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, [{"fsdp"}]>, <@mesh, [{"fsdp"}, {}]>, <@mesh, []>]>}> ({
    ^bb0(%arg27: tensor<8xf32>, %arg28: tensor<8xf32>, %arg29: tensor<256x128xf32>, %arg30: tensor<64xf32>, %arg31: tensor<64xf32>, %arg32: tensor<64x448xf32>, %arg33: tensor<224x128xf32>, %arg34: tensor<64x448xf32>, %arg35: tensor<64x32xf32>, %arg36: tensor<64x128xf32>, %arg37: tensor<64x128xf32>, %arg38: tensor<64x32xf32>, %arg39: tensor<64xf32>, %arg40: tensor<64x512xf32>, %arg41: tensor<1x32xi32>, %arg42: tensor<1x32xi32>):
      %20 = "stablehlo.convert"(%arg29) : (tensor<256x128xf32>) -> tensor<256x128xbf16>
      %21 = "stablehlo.all_gather"(%20) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<256x128xbf16>) -> tensor<512x128xbf16>
      %22 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x32xi32>
      %24 = "stablehlo.compare"(%arg41, %23) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<1x32xi32>, tensor<1x32xi32>) -> tensor<1x32xi1>
      %25 = "stablehlo.constant"() <{value = dense<512> : tensor<i32>}> : () -> tensor<i32>
      %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1x32xi32>
      %27 = "stablehlo.add"(%arg41, %26) : (tensor<1x32xi32>, tensor<1x32xi32>) -> tensor<1x32xi32>
      %28 = "stablehlo.select"(%24, %27, %arg41) : (tensor<1x32xi1>, tensor<1x32xi32>, tensor<1x32xi32>) -> tensor<1x32xi32>
      %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xi32>) -> tensor<1x32x1xi32>
      %30 = "stablehlo.gather"(%21, %29) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 128>}> : (tensor<512x128xbf16>, tensor<1x32x1xi32>) -> tensor<1x32x128xbf16>
      %31 = "stablehlo.convert"(%arg30) : (tensor<64xf32>) -> tensor<64xbf16>
      %32 = "stablehlo.all_gather"(%31) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64xbf16>) -> tensor<128xbf16>
      %33 = "stablehlo.convert"(%30) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %34 = "stablehlo.multiply"(%33, %33) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %35 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %36 = "stablehlo.reduce"(%34, %35) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg129: tensor<f32>, %arg130: tensor<f32>):
        %732 = "stablehlo.add"(%arg129, %arg130) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%732) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %38 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %40 = "stablehlo.divide"(%37, %39) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %41 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
      %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %43 = "stablehlo.add"(%40, %42) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %44 = "stablehlo.rsqrt"(%43) : (tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %46 = "stablehlo.multiply"(%33, %45) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %47 = "stablehlo.convert"(%46) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %48 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 2>}> : (tensor<128xbf16>) -> tensor<1x1x128xbf16>
      %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x128xbf16>) -> tensor<1x32x128xbf16>
      %50 = "stablehlo.multiply"(%47, %49) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %51 = "stablehlo.convert"(%arg37) : (tensor<64x128xf32>) -> tensor<64x128xbf16>
      %52 = "stablehlo.all_gather"(%51) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x128xbf16>) -> tensor<128x128xbf16>
      %53 = "stablehlo.dot_general"(%50, %52) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x128xbf16>) -> tensor<1x32x128xbf16>
      %54 = "stablehlo.reshape"(%53) : (tensor<1x32x128xbf16>) -> tensor<1x32x8x16xbf16>
      %55 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xf32>
      %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64: 0>}> : (tensor<32xf32>) -> tensor<32x1x1xf32>
      %57 = "stablehlo.broadcast_in_dim"(%arg27) <{broadcast_dimensions = array<i64: 2>}> : (tensor<8xf32>) -> tensor<1x1x8xf32>
      %58 = "stablehlo.broadcast_in_dim"(%56) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<32x1x1xf32>) -> tensor<32x1x8xf32>
      %59 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x8xf32>) -> tensor<32x1x8xf32>
      %60 = "stablehlo.multiply"(%58, %59) : (tensor<32x1x8xf32>, tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %61 = "stablehlo.cosine"(%60) : (tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %62 = "stablehlo.sine"(%60) : (tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %63 = "stablehlo.convert"(%54) : (tensor<1x32x8x16xbf16>) -> tensor<1x32x8x16xf32>
      %64 = "stablehlo.slice"(%63) <{limit_indices = array<i64: 1, 32, 8, 8>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x32x8x16xf32>) -> tensor<1x32x8x8xf32>
      %65 = "stablehlo.slice"(%63) <{limit_indices = array<i64: 1, 32, 8, 16>, start_indices = array<i64: 0, 0, 0, 8>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x32x8x16xf32>) -> tensor<1x32x8x8xf32>
      %66 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x8x8xf32>
      %68 = "stablehlo.multiply"(%64, %67) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %69 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %70 = "stablehlo.broadcast_in_dim"(%69) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x8x8xf32>
      %71 = "stablehlo.multiply"(%65, %70) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %72 = "stablehlo.subtract"(%68, %71) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %73 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %74 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x8x8xf32>
      %75 = "stablehlo.multiply"(%64, %74) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %76 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %77 = "stablehlo.broadcast_in_dim"(%76) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x8x8xf32>
      %78 = "stablehlo.multiply"(%65, %77) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %79 = "stablehlo.add"(%75, %78) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %80 = "stablehlo.concatenate"(%72, %79) <{dimension = 3 : i64}> : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x16xf32>
      %81 = "stablehlo.convert"(%80) : (tensor<1x32x8x16xf32>) -> tensor<1x32x8x16xbf16>
      %82 = "stablehlo.convert"(%arg35) : (tensor<64x32xf32>) -> tensor<64x32xbf16>
      %83 = "stablehlo.all_gather"(%82) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x32xbf16>) -> tensor<128x32xbf16>
      %84 = "stablehlo.dot_general"(%50, %83) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x32xbf16>) -> tensor<1x32x32xbf16>
      %85 = "stablehlo.reshape"(%84) : (tensor<1x32x32xbf16>) -> tensor<1x32x2x16xbf16>
      %86 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xf32>
      %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0>}> : (tensor<32xf32>) -> tensor<32x1x1xf32>
      %88 = "stablehlo.broadcast_in_dim"(%arg28) <{broadcast_dimensions = array<i64: 2>}> : (tensor<8xf32>) -> tensor<1x1x8xf32>
      %89 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<32x1x1xf32>) -> tensor<32x1x8xf32>
      %90 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x8xf32>) -> tensor<32x1x8xf32>
      %91 = "stablehlo.multiply"(%89, %90) : (tensor<32x1x8xf32>, tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %92 = "stablehlo.cosine"(%91) : (tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %93 = "stablehlo.sine"(%91) : (tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %94 = "stablehlo.convert"(%85) : (tensor<1x32x2x16xbf16>) -> tensor<1x32x2x16xf32>
      %95 = "stablehlo.slice"(%94) <{limit_indices = array<i64: 1, 32, 2, 8>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x32x2x16xf32>) -> tensor<1x32x2x8xf32>
      %96 = "stablehlo.slice"(%94) <{limit_indices = array<i64: 1, 32, 2, 16>, start_indices = array<i64: 0, 0, 0, 8>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x32x2x16xf32>) -> tensor<1x32x2x8xf32>
      %97 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x2x8xf32>
      %99 = "stablehlo.multiply"(%95, %98) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %100 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %101 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x2x8xf32>
      %102 = "stablehlo.multiply"(%96, %101) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %103 = "stablehlo.subtract"(%99, %102) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %104 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %105 = "stablehlo.broadcast_in_dim"(%104) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x2x8xf32>
      %106 = "stablehlo.multiply"(%95, %105) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %107 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %108 = "stablehlo.broadcast_in_dim"(%107) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x2x8xf32>
      %109 = "stablehlo.multiply"(%96, %108) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %110 = "stablehlo.add"(%106, %109) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %111 = "stablehlo.concatenate"(%103, %110) <{dimension = 3 : i64}> : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x16xf32>
      %112 = "stablehlo.convert"(%111) : (tensor<1x32x2x16xf32>) -> tensor<1x32x2x16xbf16>
      %113 = "stablehlo.convert"(%arg38) : (tensor<64x32xf32>) -> tensor<64x32xbf16>
      %114 = "stablehlo.all_gather"(%113) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x32xbf16>) -> tensor<128x32xbf16>
      %115 = "stablehlo.dot_general"(%50, %114) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x32xbf16>) -> tensor<1x32x32xbf16>
      %116 = "stablehlo.reshape"(%115) : (tensor<1x32x32xbf16>) -> tensor<1x32x2x16xbf16>
      %117 = "stablehlo.reshape"(%81) : (tensor<1x32x8x16xbf16>) -> tensor<1x32x2x4x16xbf16>
      %118 = "stablehlo.dot_general"(%117, %112) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x2x4x16xbf16>, tensor<1x32x2x16xbf16>) -> tensor<1x2x32x4x32xf32>
      %119 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xi32>
      %120 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %121 = "stablehlo.broadcast_in_dim"(%120) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<32xi32>
      %122 = "stablehlo.add"(%121, %119) : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi32>
      %123 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64: 0>}> : (tensor<32xi32>) -> tensor<32x1x1xi32>
      %124 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xi32>
      %125 = "stablehlo.broadcast_in_dim"(%124) <{broadcast_dimensions = array<i64: 2>}> : (tensor<32xi32>) -> tensor<1x1x32xi32>
      %126 = "stablehlo.broadcast_in_dim"(%123) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<32x1x1xi32>) -> tensor<32x1x32xi32>
      %127 = "stablehlo.broadcast_in_dim"(%125) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x32xi32>) -> tensor<32x1x32xi32>
      %128 = "stablehlo.compare"(%126, %127) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<32x1x32xi32>, tensor<32x1x32xi32>) -> tensor<32x1x32xi1>
      %129 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
      %130 = "stablehlo.broadcast_in_dim"(%129) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x32x4x32xf32>
      %131 = "stablehlo.multiply"(%118, %130) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %132 = "stablehlo.constant"() <{value = dense<-1.000000e+30> : tensor<f32>}> : () -> tensor<f32>
      %133 = "func.call"(%128, %131, %132) <{callee = @_where}> : (tensor<32x1x32xi1>, tensor<1x2x32x4x32xf32>, tensor<f32>) -> tensor<1x2x32x4x32xf32>
      %134 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
      %135 = "stablehlo.reduce"(%133, %134) <{dimensions = array<i64: 4>}> ({
      ^bb0(%arg127: tensor<f32>, %arg128: tensor<f32>):
        %731 = "stablehlo.maximum"(%arg127, %arg128) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%731) : (tensor<f32>) -> ()
      }) : (tensor<1x2x32x4x32xf32>, tensor<f32>) -> tensor<1x2x32x4xf32>
      %136 = "stablehlo.broadcast_in_dim"(%135) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x32x4xf32>) -> tensor<1x2x32x4x1xf32>
      %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x32xf32>
      %138 = "stablehlo.subtract"(%133, %137) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %139 = "stablehlo.exponential"(%138) : (tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %140 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %141 = "stablehlo.reduce"(%139, %140) <{dimensions = array<i64: 4>}> ({
      ^bb0(%arg125: tensor<f32>, %arg126: tensor<f32>):
        %730 = "stablehlo.add"(%arg125, %arg126) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%730) : (tensor<f32>) -> ()
      }) : (tensor<1x2x32x4x32xf32>, tensor<f32>) -> tensor<1x2x32x4xf32>
      %142 = "stablehlo.broadcast_in_dim"(%141) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x32x4xf32>) -> tensor<1x2x32x4x1xf32>
      %143 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x32xf32>
      %144 = "stablehlo.divide"(%139, %143) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %145 = "stablehlo.convert"(%144) : (tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xbf16>
      %146 = "stablehlo.dot_general"(%116, %145) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x2x16xbf16>, tensor<1x2x32x4x32xbf16>) -> tensor<1x2x16x32x4xbf16>
      %147 = "stablehlo.transpose"(%146) <{permutation = array<i64: 0, 3, 1, 4, 2>}> : (tensor<1x2x16x32x4xbf16>) -> tensor<1x32x2x4x16xbf16>
      %148 = "stablehlo.reshape"(%147) : (tensor<1x32x2x4x16xbf16>) -> tensor<1x32x128xbf16>
      %149 = "stablehlo.convert"(%arg36) : (tensor<64x128xf32>) -> tensor<64x128xbf16>
      %150 = "stablehlo.all_gather"(%149) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x128xbf16>) -> tensor<128x128xbf16>
      %151 = "stablehlo.dot_general"(%148, %150) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x128xbf16>) -> tensor<1x32x128xbf16>
      %152 = "stablehlo.add"(%30, %151) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %153 = "stablehlo.convert"(%arg31) : (tensor<64xf32>) -> tensor<64xbf16>
      %154 = "stablehlo.all_gather"(%153) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64xbf16>) -> tensor<128xbf16>
      %155 = "stablehlo.convert"(%152) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %156 = "stablehlo.multiply"(%155, %155) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %157 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %158 = "stablehlo.reduce"(%156, %157) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg123: tensor<f32>, %arg124: tensor<f32>):
        %729 = "stablehlo.add"(%arg123, %arg124) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%729) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %160 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %161 = "stablehlo.broadcast_in_dim"(%160) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %162 = "stablehlo.divide"(%159, %161) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %163 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
      %164 = "stablehlo.broadcast_in_dim"(%163) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %165 = "stablehlo.add"(%162, %164) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %166 = "stablehlo.rsqrt"(%165) : (tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %167 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %168 = "stablehlo.multiply"(%155, %167) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %169 = "stablehlo.convert"(%168) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %170 = "stablehlo.broadcast_in_dim"(%154) <{broadcast_dimensions = array<i64: 2>}> : (tensor<128xbf16>) -> tensor<1x1x128xbf16>
      %171 = "stablehlo.broadcast_in_dim"(%170) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x128xbf16>) -> tensor<1x32x128xbf16>
      %172 = "stablehlo.multiply"(%169, %171) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %173 = "stablehlo.convert"(%arg32) : (tensor<64x448xf32>) -> tensor<64x448xbf16>
      %174 = "stablehlo.all_gather"(%173) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x448xbf16>) -> tensor<128x448xbf16>
      %175 = "stablehlo.dot_general"(%172, %174) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x448xbf16>) -> tensor<1x32x448xbf16>
      %176 = "stablehlo.convert"(%arg34) : (tensor<64x448xf32>) -> tensor<64x448xbf16>
      %177 = "stablehlo.all_gather"(%176) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x448xbf16>) -> tensor<128x448xbf16>
      %178 = "stablehlo.dot_general"(%172, %177) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x448xbf16>) -> tensor<1x32x448xbf16>
      %179 = "stablehlo.negate"(%175) : (tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %180 = "stablehlo.exponential"(%179) : (tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %181 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %182 = "stablehlo.broadcast_in_dim"(%181) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<1x32x448xbf16>
      %183 = "stablehlo.add"(%182, %180) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %184 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %185 = "stablehlo.broadcast_in_dim"(%184) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<1x32x448xbf16>
      %186 = "stablehlo.divide"(%185, %183) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %187 = "stablehlo.multiply"(%175, %186) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %188 = "stablehlo.multiply"(%187, %178) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %189 = "stablehlo.convert"(%arg33) : (tensor<224x128xf32>) -> tensor<224x128xbf16>
      %190 = "stablehlo.all_gather"(%189) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<224x128xbf16>) -> tensor<448x128xbf16>
      %191 = "stablehlo.dot_general"(%188, %190) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x448xbf16>, tensor<448x128xbf16>) -> tensor<1x32x128xbf16>
      %192 = "stablehlo.add"(%152, %191) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %193 = "stablehlo.convert"(%arg39) : (tensor<64xf32>) -> tensor<64xbf16>
      %194 = "stablehlo.all_gather"(%193) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64xbf16>) -> tensor<128xbf16>
      %195 = "stablehlo.convert"(%192) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %196 = "stablehlo.multiply"(%195, %195) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %197 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %198 = "stablehlo.reduce"(%196, %197) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg121: tensor<f32>, %arg122: tensor<f32>):
        %728 = "stablehlo.add"(%arg121, %arg122) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%728) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %199 = "stablehlo.broadcast_in_dim"(%198) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %200 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %201 = "stablehlo.broadcast_in_dim"(%200) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %202 = "stablehlo.divide"(%199, %201) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %203 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
      %204 = "stablehlo.broadcast_in_dim"(%203) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %205 = "stablehlo.add"(%202, %204) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %206 = "stablehlo.rsqrt"(%205) : (tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %207 = "stablehlo.broadcast_in_dim"(%206) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %208 = "stablehlo.multiply"(%195, %207) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %209 = "stablehlo.convert"(%208) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %210 = "stablehlo.broadcast_in_dim"(%194) <{broadcast_dimensions = array<i64: 2>}> : (tensor<128xbf16>) -> tensor<1x1x128xbf16>
      %211 = "stablehlo.broadcast_in_dim"(%210) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x128xbf16>) -> tensor<1x32x128xbf16>
      %212 = "stablehlo.multiply"(%209, %211) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %213 = "stablehlo.convert"(%arg40) : (tensor<64x512xf32>) -> tensor<64x512xbf16>
      %214 = "stablehlo.all_gather"(%213) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x512xbf16>) -> tensor<128x512xbf16>
      %215 = "stablehlo.dot_general"(%212, %214) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x512xbf16>) -> tensor<1x32x512xbf16>
      %216 = "stablehlo.convert"(%215) : (tensor<1x32x512xbf16>) -> tensor<1x32x512xf32>
      %217 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
      %218 = "stablehlo.reduce"(%216, %217) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg119: tensor<f32>, %arg120: tensor<f32>):
        %727 = "stablehlo.maximum"(%arg119, %arg120) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%727) : (tensor<f32>) -> ()
      }) : (tensor<1x32x512xf32>, tensor<f32>) -> tensor<1x32xf32>
      %219 = "stablehlo.broadcast_in_dim"(%218) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %220 = "stablehlo.broadcast_in_dim"(%219) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x512xf32>
      %221 = "stablehlo.subtract"(%216, %220) : (tensor<1x32x512xf32>, tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
      %222 = "stablehlo.exponential"(%221) : (tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
      %223 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %224 = "stablehlo.reduce"(%222, %223) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg117: tensor<f32>, %arg118: tensor<f32>):
        %726 = "stablehlo.add"(%arg117, %arg118) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%726) : (tensor<f32>) -> ()
      }) : (tensor<1x32x512xf32>, tensor<f32>) -> tensor<1x32xf32>
      %225 = "stablehlo.log"(%224) : (tensor<1x32xf32>) -> tensor<1x32xf32>
      %226 = "stablehlo.reshape"(%219) : (tensor<1x32x1xf32>) -> tensor<1x32xf32>
      %227 = "stablehlo.add"(%225, %226) : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
      %228 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<512xi32>
      %229 = "stablehlo.broadcast_in_dim"(%arg42) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xi32>) -> tensor<1x32x1xi32>
      %230 = "stablehlo.broadcast_in_dim"(%228) <{broadcast_dimensions = array<i64: 2>}> : (tensor<512xi32>) -> tensor<1x1x512xi32>
      %231 = "stablehlo.broadcast_in_dim"(%229) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xi32>) -> tensor<1x32x512xi32>
      %232 = "stablehlo.broadcast_in_dim"(%230) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x512xi32>) -> tensor<1x32x512xi32>
      %233 = "stablehlo.compare"(%231, %232) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x32x512xi32>, tensor<1x32x512xi32>) -> tensor<1x32x512xi1>
      %234 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %235 = "func.call"(%233, %216, %234) <{callee = @_where_0}> : (tensor<1x32x512xi1>, tensor<1x32x512xf32>, tensor<f32>) -> tensor<1x32x512xf32>
      %236 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %237 = "stablehlo.reduce"(%235, %236) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg115: tensor<f32>, %arg116: tensor<f32>):
        %725 = "stablehlo.add"(%arg115, %arg116) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%725) : (tensor<f32>) -> ()
      }) : (tensor<1x32x512xf32>, tensor<f32>) -> tensor<1x32xf32>
      %238 = "stablehlo.subtract"(%227, %237) : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
      %239 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %240 = "stablehlo.reduce"(%238, %239) <{dimensions = array<i64: 0, 1>}> ({
      ^bb0(%arg113: tensor<f32>, %arg114: tensor<f32>):
        %724 = "stablehlo.add"(%arg113, %arg114) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%724) : (tensor<f32>) -> ()
      }) : (tensor<1x32xf32>, tensor<f32>) -> tensor<f32>
      %241 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
      %242 = "stablehlo.divide"(%240, %241) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %243 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %244 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
      %245 = "stablehlo.divide"(%243, %244) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %246:3 = "stablehlo.optimization_barrier"(%215, %arg42, %245) : (tensor<1x32x512xbf16>, tensor<1x32xi32>, tensor<f32>) -> (tensor<1x32x512xbf16>, tensor<1x32xi32>, tensor<f32>)
      %247 = "stablehlo.convert"(%246#0) : (tensor<1x32x512xbf16>) -> tensor<1x32x512xf32>
      %248 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
      %249 = "stablehlo.reduce"(%247, %248) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg111: tensor<f32>, %arg112: tensor<f32>):
        %723 = "stablehlo.maximum"(%arg111, %arg112) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%723) : (tensor<f32>) -> ()
      }) : (tensor<1x32x512xf32>, tensor<f32>) -> tensor<1x32xf32>
      %250 = "stablehlo.broadcast_in_dim"(%249) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %251 = "stablehlo.broadcast_in_dim"(%250) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x512xf32>
      %252 = "stablehlo.subtract"(%247, %251) : (tensor<1x32x512xf32>, tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
      %253 = "stablehlo.exponential"(%252) : (tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
      %254 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %255 = "stablehlo.reduce"(%253, %254) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg109: tensor<f32>, %arg110: tensor<f32>):
        %722 = "stablehlo.add"(%arg109, %arg110) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%722) : (tensor<f32>) -> ()
      }) : (tensor<1x32x512xf32>, tensor<f32>) -> tensor<1x32xf32>
      %256 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<512xi32>
      %257 = "stablehlo.broadcast_in_dim"(%246#1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xi32>) -> tensor<1x32x1xi32>
      %258 = "stablehlo.broadcast_in_dim"(%256) <{broadcast_dimensions = array<i64: 2>}> : (tensor<512xi32>) -> tensor<1x1x512xi32>
      %259 = "stablehlo.broadcast_in_dim"(%257) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xi32>) -> tensor<1x32x512xi32>
      %260 = "stablehlo.broadcast_in_dim"(%258) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x512xi32>) -> tensor<1x32x512xi32>
      %261 = "stablehlo.compare"(%259, %260) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<1x32x512xi32>, tensor<1x32x512xi32>) -> tensor<1x32x512xi1>
      %262 = "stablehlo.broadcast_in_dim"(%246#2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32xf32>
      %263 = "stablehlo.negate"(%262) : (tensor<1x32xf32>) -> tensor<1x32xf32>
      %264 = "stablehlo.broadcast_in_dim"(%263) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x512xf32>
      %265 = "func.call"(%261, %264) <{callee = @_where_1}> : (tensor<1x32x512xi1>, tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
      %266 = "stablehlo.divide"(%262, %255) : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
      %267 = "stablehlo.broadcast_in_dim"(%266) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x512xf32>
      %268 = "stablehlo.multiply"(%267, %253) : (tensor<1x32x512xf32>, tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
      %269 = "stablehlo.add"(%265, %268) : (tensor<1x32x512xf32>, tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
      %270 = "stablehlo.convert"(%269) : (tensor<1x32x512xf32>) -> tensor<1x32x512xbf16>
      %271 = "stablehlo.optimization_barrier"(%arg40) : (tensor<64x512xf32>) -> tensor<64x512xf32>
      %272 = "stablehlo.convert"(%271) : (tensor<64x512xf32>) -> tensor<64x512xbf16>
      %273 = "stablehlo.all_gather"(%272) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x512xbf16>) -> tensor<128x512xbf16>
      %274 = "stablehlo.dot_general"(%212, %270) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<1x32x512xbf16>) -> tensor<128x512xbf16>
      %275 = "stablehlo.dot_general"(%270, %273) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x512xbf16>, tensor<128x512xbf16>) -> tensor<1x32x128xbf16>
      %276 = "stablehlo.convert"(%274) : (tensor<128x512xbf16>) -> tensor<128x512xf32>
      %277 = "stablehlo.reduce_scatter"(%276) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg107: tensor<f32>, %arg108: tensor<f32>):
        %721 = "stablehlo.add"(%arg107, %arg108) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%721) : (tensor<f32>) -> ()
      }) : (tensor<128x512xf32>) -> tensor<64x512xf32>
      %278:3 = "stablehlo.optimization_barrier"(%192, %194, %275) : (tensor<1x32x128xbf16>, tensor<128xbf16>, tensor<1x32x128xbf16>) -> (tensor<1x32x128xbf16>, tensor<128xbf16>, tensor<1x32x128xbf16>)
      %279 = "stablehlo.convert"(%278#0) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %280 = "stablehlo.multiply"(%279, %279) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %281 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %282 = "stablehlo.reduce"(%280, %281) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg105: tensor<f32>, %arg106: tensor<f32>):
        %720 = "stablehlo.add"(%arg105, %arg106) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%720) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %283 = "stablehlo.broadcast_in_dim"(%282) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %284 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %285 = "stablehlo.broadcast_in_dim"(%284) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %286 = "stablehlo.divide"(%283, %285) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %287 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
      %288 = "stablehlo.broadcast_in_dim"(%287) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %289 = "stablehlo.add"(%286, %288) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %290 = "stablehlo.rsqrt"(%289) : (tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %291 = "stablehlo.divide"(%290, %289) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %292 = "stablehlo.constant"() <{value = dense<-5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %293 = "stablehlo.broadcast_in_dim"(%292) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %294 = "stablehlo.multiply"(%293, %291) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %295 = "stablehlo.broadcast_in_dim"(%290) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %296 = "stablehlo.multiply"(%279, %295) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %297 = "stablehlo.convert"(%296) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %298 = "stablehlo.broadcast_in_dim"(%278#1) <{broadcast_dimensions = array<i64: 2>}> : (tensor<128xbf16>) -> tensor<1x1x128xbf16>
      %299 = "stablehlo.multiply"(%297, %278#2) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %300 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %301 = "stablehlo.reduce"(%299, %300) <{dimensions = array<i64: 1>}> ({
      ^bb0(%arg103: tensor<bf16>, %arg104: tensor<bf16>):
        %719 = "stablehlo.add"(%arg103, %arg104) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
        "stablehlo.return"(%719) : (tensor<bf16>) -> ()
      }) : (tensor<1x32x128xbf16>, tensor<bf16>) -> tensor<1x128xbf16>
      %302 = "stablehlo.reshape"(%301) : (tensor<1x128xbf16>) -> tensor<1x1x128xbf16>
      %303 = "stablehlo.broadcast_in_dim"(%298) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x128xbf16>) -> tensor<1x32x128xbf16>
      %304 = "stablehlo.multiply"(%278#2, %303) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %305 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %306 = "stablehlo.reduce"(%302, %305) <{dimensions = array<i64: 0, 1>}> ({
      ^bb0(%arg101: tensor<bf16>, %arg102: tensor<bf16>):
        %718 = "stablehlo.add"(%arg101, %arg102) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
        "stablehlo.return"(%718) : (tensor<bf16>) -> ()
      }) : (tensor<1x1x128xbf16>, tensor<bf16>) -> tensor<128xbf16>
      %307 = "stablehlo.convert"(%304) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %308 = "stablehlo.multiply"(%279, %307) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %309 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %310 = "stablehlo.reduce"(%308, %309) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg99: tensor<f32>, %arg100: tensor<f32>):
        %717 = "stablehlo.add"(%arg99, %arg100) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%717) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %311 = "stablehlo.reshape"(%310) : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %312 = "stablehlo.broadcast_in_dim"(%290) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %313 = "stablehlo.multiply"(%307, %312) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %314 = "stablehlo.multiply"(%311, %294) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %315 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %316 = "stablehlo.broadcast_in_dim"(%315) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %317 = "stablehlo.divide"(%314, %316) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %318 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %319 = "stablehlo.reduce"(%317, %318) <{dimensions = array<i64: 0, 2>}> ({
      ^bb0(%arg97: tensor<f32>, %arg98: tensor<f32>):
        %716 = "stablehlo.add"(%arg97, %arg98) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%716) : (tensor<f32>) -> ()
      }) : (tensor<1x32x1xf32>, tensor<f32>) -> tensor<32xf32>
      %320 = "stablehlo.broadcast_in_dim"(%319) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf32>) -> tensor<1x32xf32>
      %321 = "stablehlo.broadcast_in_dim"(%320) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x128xf32>
      %322 = "stablehlo.multiply"(%279, %321) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %323 = "stablehlo.add"(%313, %322) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %324 = "stablehlo.multiply"(%321, %279) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %325 = "stablehlo.add"(%323, %324) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %326 = "stablehlo.convert"(%325) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %327 = "stablehlo.convert"(%306) : (tensor<128xbf16>) -> tensor<128xf32>
      %328 = "stablehlo.reduce_scatter"(%327) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg95: tensor<f32>, %arg96: tensor<f32>):
        %715 = "stablehlo.add"(%arg95, %arg96) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%715) : (tensor<f32>) -> ()
      }) : (tensor<128xf32>) -> tensor<64xf32>
      %329 = "stablehlo.optimization_barrier"(%arg33) : (tensor<224x128xf32>) -> tensor<224x128xf32>
      %330 = "stablehlo.convert"(%329) : (tensor<224x128xf32>) -> tensor<224x128xbf16>
      %331 = "stablehlo.all_gather"(%330) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<224x128xbf16>) -> tensor<448x128xbf16>
      %332 = "stablehlo.dot_general"(%188, %326) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x448xbf16>, tensor<1x32x128xbf16>) -> tensor<448x128xbf16>
      %333 = "stablehlo.dot_general"(%326, %331) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<448x128xbf16>) -> tensor<1x32x448xbf16>
      %334 = "stablehlo.convert"(%332) : (tensor<448x128xbf16>) -> tensor<448x128xf32>
      %335 = "stablehlo.reduce_scatter"(%334) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg93: tensor<f32>, %arg94: tensor<f32>):
        %714 = "stablehlo.add"(%arg93, %arg94) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%714) : (tensor<f32>) -> ()
      }) : (tensor<448x128xf32>) -> tensor<224x128xf32>
      %336:3 = "stablehlo.optimization_barrier"(%175, %178, %333) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>, tensor<1x32x448xbf16>)
      %337 = "stablehlo.negate"(%336#0) : (tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %338 = "stablehlo.exponential"(%337) : (tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %339 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %340 = "stablehlo.broadcast_in_dim"(%339) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<1x32x448xbf16>
      %341 = "stablehlo.add"(%340, %338) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %342 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %343 = "stablehlo.broadcast_in_dim"(%342) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<1x32x448xbf16>
      %344 = "stablehlo.divide"(%343, %341) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %345 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %346 = "stablehlo.broadcast_in_dim"(%345) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<1x32x448xbf16>
      %347 = "stablehlo.subtract"(%346, %344) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %348 = "stablehlo.multiply"(%344, %347) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %349 = "stablehlo.multiply"(%336#0, %344) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %350 = "stablehlo.multiply"(%349, %336#2) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %351 = "stablehlo.multiply"(%336#2, %336#1) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %352 = "stablehlo.multiply"(%336#0, %351) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %353 = "stablehlo.multiply"(%351, %344) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %354 = "stablehlo.multiply"(%352, %348) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %355 = "stablehlo.add"(%353, %354) : (tensor<1x32x448xbf16>, tensor<1x32x448xbf16>) -> tensor<1x32x448xbf16>
      %356 = "stablehlo.optimization_barrier"(%arg34) : (tensor<64x448xf32>) -> tensor<64x448xf32>
      %357 = "stablehlo.convert"(%356) : (tensor<64x448xf32>) -> tensor<64x448xbf16>
      %358 = "stablehlo.all_gather"(%357) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x448xbf16>) -> tensor<128x448xbf16>
      %359 = "stablehlo.dot_general"(%172, %350) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<1x32x448xbf16>) -> tensor<128x448xbf16>
      %360 = "stablehlo.dot_general"(%350, %358) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x448xbf16>, tensor<128x448xbf16>) -> tensor<1x32x128xbf16>
      %361 = "stablehlo.convert"(%359) : (tensor<128x448xbf16>) -> tensor<128x448xf32>
      %362 = "stablehlo.reduce_scatter"(%361) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg91: tensor<f32>, %arg92: tensor<f32>):
        %713 = "stablehlo.add"(%arg91, %arg92) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%713) : (tensor<f32>) -> ()
      }) : (tensor<128x448xf32>) -> tensor<64x448xf32>
      %363 = "stablehlo.optimization_barrier"(%arg32) : (tensor<64x448xf32>) -> tensor<64x448xf32>
      %364 = "stablehlo.convert"(%363) : (tensor<64x448xf32>) -> tensor<64x448xbf16>
      %365 = "stablehlo.all_gather"(%364) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x448xbf16>) -> tensor<128x448xbf16>
      %366 = "stablehlo.dot_general"(%172, %355) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<1x32x448xbf16>) -> tensor<128x448xbf16>
      %367 = "stablehlo.dot_general"(%355, %365) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x448xbf16>, tensor<128x448xbf16>) -> tensor<1x32x128xbf16>
      %368 = "stablehlo.convert"(%366) : (tensor<128x448xbf16>) -> tensor<128x448xf32>
      %369 = "stablehlo.reduce_scatter"(%368) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg89: tensor<f32>, %arg90: tensor<f32>):
        %712 = "stablehlo.add"(%arg89, %arg90) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%712) : (tensor<f32>) -> ()
      }) : (tensor<128x448xf32>) -> tensor<64x448xf32>
      %370 = "stablehlo.add"(%360, %367) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %371:3 = "stablehlo.optimization_barrier"(%152, %154, %370) : (tensor<1x32x128xbf16>, tensor<128xbf16>, tensor<1x32x128xbf16>) -> (tensor<1x32x128xbf16>, tensor<128xbf16>, tensor<1x32x128xbf16>)
      %372 = "stablehlo.convert"(%371#0) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %373 = "stablehlo.multiply"(%372, %372) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %374 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %375 = "stablehlo.reduce"(%373, %374) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg87: tensor<f32>, %arg88: tensor<f32>):
        %711 = "stablehlo.add"(%arg87, %arg88) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%711) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %376 = "stablehlo.broadcast_in_dim"(%375) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %377 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %378 = "stablehlo.broadcast_in_dim"(%377) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %379 = "stablehlo.divide"(%376, %378) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %380 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
      %381 = "stablehlo.broadcast_in_dim"(%380) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %382 = "stablehlo.add"(%379, %381) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %383 = "stablehlo.rsqrt"(%382) : (tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %384 = "stablehlo.divide"(%383, %382) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %385 = "stablehlo.constant"() <{value = dense<-5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %386 = "stablehlo.broadcast_in_dim"(%385) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %387 = "stablehlo.multiply"(%386, %384) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %388 = "stablehlo.broadcast_in_dim"(%383) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %389 = "stablehlo.multiply"(%372, %388) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %390 = "stablehlo.convert"(%389) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %391 = "stablehlo.broadcast_in_dim"(%371#1) <{broadcast_dimensions = array<i64: 2>}> : (tensor<128xbf16>) -> tensor<1x1x128xbf16>
      %392 = "stablehlo.multiply"(%390, %371#2) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %393 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %394 = "stablehlo.reduce"(%392, %393) <{dimensions = array<i64: 1>}> ({
      ^bb0(%arg85: tensor<bf16>, %arg86: tensor<bf16>):
        %710 = "stablehlo.add"(%arg85, %arg86) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
        "stablehlo.return"(%710) : (tensor<bf16>) -> ()
      }) : (tensor<1x32x128xbf16>, tensor<bf16>) -> tensor<1x128xbf16>
      %395 = "stablehlo.reshape"(%394) : (tensor<1x128xbf16>) -> tensor<1x1x128xbf16>
      %396 = "stablehlo.broadcast_in_dim"(%391) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x128xbf16>) -> tensor<1x32x128xbf16>
      %397 = "stablehlo.multiply"(%371#2, %396) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %398 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %399 = "stablehlo.reduce"(%395, %398) <{dimensions = array<i64: 0, 1>}> ({
      ^bb0(%arg83: tensor<bf16>, %arg84: tensor<bf16>):
        %709 = "stablehlo.add"(%arg83, %arg84) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
        "stablehlo.return"(%709) : (tensor<bf16>) -> ()
      }) : (tensor<1x1x128xbf16>, tensor<bf16>) -> tensor<128xbf16>
      %400 = "stablehlo.convert"(%397) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %401 = "stablehlo.multiply"(%372, %400) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %402 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %403 = "stablehlo.reduce"(%401, %402) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg81: tensor<f32>, %arg82: tensor<f32>):
        %708 = "stablehlo.add"(%arg81, %arg82) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%708) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %404 = "stablehlo.reshape"(%403) : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %405 = "stablehlo.broadcast_in_dim"(%383) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %406 = "stablehlo.multiply"(%400, %405) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %407 = "stablehlo.multiply"(%404, %387) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %408 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %409 = "stablehlo.broadcast_in_dim"(%408) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %410 = "stablehlo.divide"(%407, %409) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %411 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %412 = "stablehlo.reduce"(%410, %411) <{dimensions = array<i64: 0, 2>}> ({
      ^bb0(%arg79: tensor<f32>, %arg80: tensor<f32>):
        %707 = "stablehlo.add"(%arg79, %arg80) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%707) : (tensor<f32>) -> ()
      }) : (tensor<1x32x1xf32>, tensor<f32>) -> tensor<32xf32>
      %413 = "stablehlo.broadcast_in_dim"(%412) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf32>) -> tensor<1x32xf32>
      %414 = "stablehlo.broadcast_in_dim"(%413) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x128xf32>
      %415 = "stablehlo.multiply"(%372, %414) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %416 = "stablehlo.add"(%406, %415) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %417 = "stablehlo.multiply"(%414, %372) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %418 = "stablehlo.add"(%416, %417) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %419 = "stablehlo.convert"(%418) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %420 = "stablehlo.add"(%326, %419) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %421 = "stablehlo.convert"(%399) : (tensor<128xbf16>) -> tensor<128xf32>
      %422 = "stablehlo.reduce_scatter"(%421) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg77: tensor<f32>, %arg78: tensor<f32>):
        %706 = "stablehlo.add"(%arg77, %arg78) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%706) : (tensor<f32>) -> ()
      }) : (tensor<128xf32>) -> tensor<64xf32>
      %423 = "stablehlo.optimization_barrier"(%arg36) : (tensor<64x128xf32>) -> tensor<64x128xf32>
      %424 = "stablehlo.convert"(%423) : (tensor<64x128xf32>) -> tensor<64x128xbf16>
      %425 = "stablehlo.all_gather"(%424) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x128xbf16>) -> tensor<128x128xbf16>
      %426 = "stablehlo.dot_general"(%148, %420) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<128x128xbf16>
      %427 = "stablehlo.dot_general"(%420, %425) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x128xbf16>) -> tensor<1x32x128xbf16>
      %428 = "stablehlo.convert"(%426) : (tensor<128x128xbf16>) -> tensor<128x128xf32>
      %429 = "stablehlo.reduce_scatter"(%428) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg75: tensor<f32>, %arg76: tensor<f32>):
        %705 = "stablehlo.add"(%arg75, %arg76) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%705) : (tensor<f32>) -> ()
      }) : (tensor<128x128xf32>) -> tensor<64x128xf32>
      %430 = "stablehlo.reshape"(%427) : (tensor<1x32x128xbf16>) -> tensor<1x32x2x4x16xbf16>
      %431:4 = "stablehlo.optimization_barrier"(%117, %112, %116, %430) : (tensor<1x32x2x4x16xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x4x16xbf16>) -> (tensor<1x32x2x4x16xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x16xbf16>, tensor<1x32x2x4x16xbf16>)
      %432 = "stablehlo.dot_general"(%431#0, %431#1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x2x4x16xbf16>, tensor<1x32x2x16xbf16>) -> tensor<1x2x32x4x32xf32>
      %433 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xi32>
      %434 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %435 = "stablehlo.broadcast_in_dim"(%434) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<32xi32>
      %436 = "stablehlo.add"(%435, %433) : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi32>
      %437 = "stablehlo.broadcast_in_dim"(%436) <{broadcast_dimensions = array<i64: 0>}> : (tensor<32xi32>) -> tensor<32x1x1xi32>
      %438 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xi32>
      %439 = "stablehlo.broadcast_in_dim"(%438) <{broadcast_dimensions = array<i64: 2>}> : (tensor<32xi32>) -> tensor<1x1x32xi32>
      %440 = "stablehlo.broadcast_in_dim"(%437) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<32x1x1xi32>) -> tensor<32x1x32xi32>
      %441 = "stablehlo.broadcast_in_dim"(%439) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x32xi32>) -> tensor<32x1x32xi32>
      %442 = "stablehlo.compare"(%440, %441) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<32x1x32xi32>, tensor<32x1x32xi32>) -> tensor<32x1x32xi1>
      %443 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
      %444 = "stablehlo.broadcast_in_dim"(%443) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x32x4x32xf32>
      %445 = "stablehlo.multiply"(%432, %444) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %446 = "stablehlo.constant"() <{value = dense<-1.000000e+30> : tensor<f32>}> : () -> tensor<f32>
      %447:2 = "func.call"(%442, %445, %446) <{callee = @_where_2}> : (tensor<32x1x32xi1>, tensor<1x2x32x4x32xf32>, tensor<f32>) -> (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xi1>)
      %448 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
      %449 = "stablehlo.reduce"(%447#0, %448) <{dimensions = array<i64: 4>}> ({
      ^bb0(%arg73: tensor<f32>, %arg74: tensor<f32>):
        %704 = "stablehlo.maximum"(%arg73, %arg74) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%704) : (tensor<f32>) -> ()
      }) : (tensor<1x2x32x4x32xf32>, tensor<f32>) -> tensor<1x2x32x4xf32>
      %450 = "stablehlo.broadcast_in_dim"(%449) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x32x4xf32>) -> tensor<1x2x32x4x1xf32>
      %451 = "stablehlo.broadcast_in_dim"(%450) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x32xf32>
      %452 = "stablehlo.subtract"(%447#0, %451) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %453 = "stablehlo.exponential"(%452) : (tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %454 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %455 = "stablehlo.reduce"(%453, %454) <{dimensions = array<i64: 4>}> ({
      ^bb0(%arg71: tensor<f32>, %arg72: tensor<f32>):
        %703 = "stablehlo.add"(%arg71, %arg72) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%703) : (tensor<f32>) -> ()
      }) : (tensor<1x2x32x4x32xf32>, tensor<f32>) -> tensor<1x2x32x4xf32>
      %456 = "stablehlo.broadcast_in_dim"(%455) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x32x4xf32>) -> tensor<1x2x32x4x1xf32>
      %457 = "stablehlo.broadcast_in_dim"(%456) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x32xf32>
      %458 = "stablehlo.divide"(%453, %457) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %459 = "stablehlo.multiply"(%456, %456) : (tensor<1x2x32x4x1xf32>, tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x1xf32>
      %460 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %461 = "stablehlo.broadcast_in_dim"(%460) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x32x4x1xf32>
      %462 = "stablehlo.divide"(%461, %459) : (tensor<1x2x32x4x1xf32>, tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x1xf32>
      %463 = "stablehlo.convert"(%458) : (tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xbf16>
      %464 = "stablehlo.transpose"(%431#3) <{permutation = array<i64: 0, 2, 4, 1, 3>}> : (tensor<1x32x2x4x16xbf16>) -> tensor<1x2x16x32x4xbf16>
      %465 = "stablehlo.dot_general"(%464, %431#2) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x2x16x32x4xbf16>, tensor<1x32x2x16xbf16>) -> tensor<1x2x32x4x32xbf16>
      %466 = "stablehlo.dot_general"(%464, %463) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [3, 4], rhs_contracting_dimensions = [2, 3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x2x16x32x4xbf16>, tensor<1x2x32x4x32xbf16>) -> tensor<1x2x16x32xbf16>
      %467 = "stablehlo.transpose"(%466) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<1x2x16x32xbf16>) -> tensor<1x32x2x16xbf16>
      %468 = "stablehlo.convert"(%465) : (tensor<1x2x32x4x32xbf16>) -> tensor<1x2x32x4x32xf32>
      %469 = "stablehlo.broadcast_in_dim"(%462) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x32xf32>
      %470 = "stablehlo.multiply"(%468, %469) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %471 = "stablehlo.multiply"(%470, %453) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %472 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %473 = "stablehlo.reduce"(%471, %472) <{dimensions = array<i64: 4>}> ({
      ^bb0(%arg69: tensor<f32>, %arg70: tensor<f32>):
        %702 = "stablehlo.add"(%arg69, %arg70) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%702) : (tensor<f32>) -> ()
      }) : (tensor<1x2x32x4x32xf32>, tensor<f32>) -> tensor<1x2x32x4xf32>
      %474 = "stablehlo.reshape"(%473) : (tensor<1x2x32x4xf32>) -> tensor<1x2x32x4x1xf32>
      %475 = "stablehlo.negate"(%474) : (tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x1xf32>
      %476 = "stablehlo.broadcast_in_dim"(%456) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x32x4x1xf32>) -> tensor<1x2x32x4x32xf32>
      %477 = "stablehlo.divide"(%468, %476) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %478 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %479 = "stablehlo.reduce"(%475, %478) <{dimensions = array<i64: 0, 4>}> ({
      ^bb0(%arg67: tensor<f32>, %arg68: tensor<f32>):
        %701 = "stablehlo.add"(%arg67, %arg68) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%701) : (tensor<f32>) -> ()
      }) : (tensor<1x2x32x4x1xf32>, tensor<f32>) -> tensor<2x32x4xf32>
      %480 = "stablehlo.broadcast_in_dim"(%479) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<2x32x4xf32>) -> tensor<1x2x32x4xf32>
      %481 = "stablehlo.broadcast_in_dim"(%480) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x32x4xf32>) -> tensor<1x2x32x4x32xf32>
      %482 = "stablehlo.add"(%477, %481) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %483 = "stablehlo.multiply"(%482, %453) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %484 = "func.call"(%447#1, %483) <{callee = @_where_3}> : (tensor<1x2x32x4x32xi1>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %485 = "stablehlo.constant"() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
      %486 = "stablehlo.broadcast_in_dim"(%485) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x32x4x32xf32>
      %487 = "stablehlo.multiply"(%484, %486) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %488 = "stablehlo.convert"(%487) : (tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %489 = "stablehlo.convert"(%431#0) : (tensor<1x32x2x4x16xbf16>) -> tensor<1x32x2x4x16xf32>
      %490 = "stablehlo.dot_general"(%488, %489) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [1, 3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x2x32x4x32xf32>, tensor<1x32x2x4x16xf32>) -> tensor<1x2x32x16xf32>
      %491 = "stablehlo.transpose"(%490) <{permutation = array<i64: 0, 2, 1, 3>}> : (tensor<1x2x32x16xf32>) -> tensor<1x32x2x16xf32>
      %492 = "stablehlo.convert"(%491) : (tensor<1x32x2x16xf32>) -> tensor<1x32x2x16xbf16>
      %493 = "stablehlo.convert"(%487) : (tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
      %494 = "stablehlo.convert"(%431#1) : (tensor<1x32x2x16xbf16>) -> tensor<1x32x2x16xf32>
      %495 = "stablehlo.dot_general"(%493, %494) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x2x32x4x32xf32>, tensor<1x32x2x16xf32>) -> tensor<1x2x32x4x16xf32>
      %496 = "stablehlo.transpose"(%495) <{permutation = array<i64: 0, 2, 1, 3, 4>}> : (tensor<1x2x32x4x16xf32>) -> tensor<1x32x2x4x16xf32>
      %497 = "stablehlo.convert"(%496) : (tensor<1x32x2x4x16xf32>) -> tensor<1x32x2x4x16xbf16>
      %498 = "stablehlo.reshape"(%497) : (tensor<1x32x2x4x16xbf16>) -> tensor<1x32x8x16xbf16>
      %499 = "stablehlo.reshape"(%467) : (tensor<1x32x2x16xbf16>) -> tensor<1x32x32xbf16>
      %500 = "stablehlo.optimization_barrier"(%arg38) : (tensor<64x32xf32>) -> tensor<64x32xf32>
      %501 = "stablehlo.convert"(%500) : (tensor<64x32xf32>) -> tensor<64x32xbf16>
      %502 = "stablehlo.all_gather"(%501) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x32xbf16>) -> tensor<128x32xbf16>
      %503 = "stablehlo.dot_general"(%50, %499) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<1x32x32xbf16>) -> tensor<128x32xbf16>
      %504 = "stablehlo.dot_general"(%499, %502) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x32xbf16>, tensor<128x32xbf16>) -> tensor<1x32x128xbf16>
      %505 = "stablehlo.convert"(%503) : (tensor<128x32xbf16>) -> tensor<128x32xf32>
      %506 = "stablehlo.reduce_scatter"(%505) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg65: tensor<f32>, %arg66: tensor<f32>):
        %700 = "stablehlo.add"(%arg65, %arg66) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%700) : (tensor<f32>) -> ()
      }) : (tensor<128x32xf32>) -> tensor<64x32xf32>
      %507:2 = "stablehlo.optimization_barrier"(%arg28, %492) : (tensor<8xf32>, tensor<1x32x2x16xbf16>) -> (tensor<8xf32>, tensor<1x32x2x16xbf16>)
      %508 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xf32>
      %509 = "stablehlo.broadcast_in_dim"(%508) <{broadcast_dimensions = array<i64: 0>}> : (tensor<32xf32>) -> tensor<32x1x1xf32>
      %510 = "stablehlo.broadcast_in_dim"(%507#0) <{broadcast_dimensions = array<i64: 2>}> : (tensor<8xf32>) -> tensor<1x1x8xf32>
      %511 = "stablehlo.broadcast_in_dim"(%509) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<32x1x1xf32>) -> tensor<32x1x8xf32>
      %512 = "stablehlo.broadcast_in_dim"(%510) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x8xf32>) -> tensor<32x1x8xf32>
      %513 = "stablehlo.multiply"(%511, %512) : (tensor<32x1x8xf32>, tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %514 = "stablehlo.cosine"(%513) : (tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %515 = "stablehlo.sine"(%513) : (tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %516 = "stablehlo.broadcast_in_dim"(%514) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %517 = "stablehlo.broadcast_in_dim"(%515) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %518 = "stablehlo.broadcast_in_dim"(%515) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %519 = "stablehlo.broadcast_in_dim"(%514) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %520 = "stablehlo.convert"(%507#1) : (tensor<1x32x2x16xbf16>) -> tensor<1x32x2x16xf32>
      %521 = "stablehlo.slice"(%520) <{limit_indices = array<i64: 1, 32, 2, 8>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x32x2x16xf32>) -> tensor<1x32x2x8xf32>
      %522 = "stablehlo.slice"(%520) <{limit_indices = array<i64: 1, 32, 2, 16>, start_indices = array<i64: 0, 0, 0, 8>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x32x2x16xf32>) -> tensor<1x32x2x8xf32>
      %523 = "stablehlo.broadcast_in_dim"(%519) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x2x8xf32>
      %524 = "stablehlo.multiply"(%522, %523) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %525 = "stablehlo.broadcast_in_dim"(%518) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x2x8xf32>
      %526 = "stablehlo.multiply"(%522, %525) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %527 = "stablehlo.negate"(%521) : (tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %528 = "stablehlo.broadcast_in_dim"(%517) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x2x8xf32>
      %529 = "stablehlo.multiply"(%527, %528) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %530 = "stablehlo.add"(%524, %529) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %531 = "stablehlo.broadcast_in_dim"(%516) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x2x8xf32>
      %532 = "stablehlo.multiply"(%521, %531) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %533 = "stablehlo.add"(%526, %532) : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x8xf32>
      %534 = "stablehlo.concatenate"(%533, %530) <{dimension = 3 : i64}> : (tensor<1x32x2x8xf32>, tensor<1x32x2x8xf32>) -> tensor<1x32x2x16xf32>
      %535 = "stablehlo.convert"(%534) : (tensor<1x32x2x16xf32>) -> tensor<1x32x2x16xbf16>
      %536 = "stablehlo.reshape"(%535) : (tensor<1x32x2x16xbf16>) -> tensor<1x32x32xbf16>
      %537 = "stablehlo.optimization_barrier"(%arg35) : (tensor<64x32xf32>) -> tensor<64x32xf32>
      %538 = "stablehlo.convert"(%537) : (tensor<64x32xf32>) -> tensor<64x32xbf16>
      %539 = "stablehlo.all_gather"(%538) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x32xbf16>) -> tensor<128x32xbf16>
      %540 = "stablehlo.dot_general"(%50, %536) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<1x32x32xbf16>) -> tensor<128x32xbf16>
      %541 = "stablehlo.dot_general"(%536, %539) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x32xbf16>, tensor<128x32xbf16>) -> tensor<1x32x128xbf16>
      %542 = "stablehlo.convert"(%540) : (tensor<128x32xbf16>) -> tensor<128x32xf32>
      %543 = "stablehlo.reduce_scatter"(%542) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg63: tensor<f32>, %arg64: tensor<f32>):
        %699 = "stablehlo.add"(%arg63, %arg64) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%699) : (tensor<f32>) -> ()
      }) : (tensor<128x32xf32>) -> tensor<64x32xf32>
      %544 = "stablehlo.add"(%504, %541) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %545:2 = "stablehlo.optimization_barrier"(%arg27, %498) : (tensor<8xf32>, tensor<1x32x8x16xbf16>) -> (tensor<8xf32>, tensor<1x32x8x16xbf16>)
      %546 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<32xf32>
      %547 = "stablehlo.broadcast_in_dim"(%546) <{broadcast_dimensions = array<i64: 0>}> : (tensor<32xf32>) -> tensor<32x1x1xf32>
      %548 = "stablehlo.broadcast_in_dim"(%545#0) <{broadcast_dimensions = array<i64: 2>}> : (tensor<8xf32>) -> tensor<1x1x8xf32>
      %549 = "stablehlo.broadcast_in_dim"(%547) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<32x1x1xf32>) -> tensor<32x1x8xf32>
      %550 = "stablehlo.broadcast_in_dim"(%548) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x8xf32>) -> tensor<32x1x8xf32>
      %551 = "stablehlo.multiply"(%549, %550) : (tensor<32x1x8xf32>, tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %552 = "stablehlo.cosine"(%551) : (tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %553 = "stablehlo.sine"(%551) : (tensor<32x1x8xf32>) -> tensor<32x1x8xf32>
      %554 = "stablehlo.broadcast_in_dim"(%552) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %555 = "stablehlo.broadcast_in_dim"(%553) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %556 = "stablehlo.broadcast_in_dim"(%553) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %557 = "stablehlo.broadcast_in_dim"(%552) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<32x1x8xf32>) -> tensor<1x32x1x8xf32>
      %558 = "stablehlo.convert"(%545#1) : (tensor<1x32x8x16xbf16>) -> tensor<1x32x8x16xf32>
      %559 = "stablehlo.slice"(%558) <{limit_indices = array<i64: 1, 32, 8, 8>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x32x8x16xf32>) -> tensor<1x32x8x8xf32>
      %560 = "stablehlo.slice"(%558) <{limit_indices = array<i64: 1, 32, 8, 16>, start_indices = array<i64: 0, 0, 0, 8>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x32x8x16xf32>) -> tensor<1x32x8x8xf32>
      %561 = "stablehlo.broadcast_in_dim"(%557) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x8x8xf32>
      %562 = "stablehlo.multiply"(%560, %561) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %563 = "stablehlo.broadcast_in_dim"(%556) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x8x8xf32>
      %564 = "stablehlo.multiply"(%560, %563) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %565 = "stablehlo.negate"(%559) : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %566 = "stablehlo.broadcast_in_dim"(%555) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x8x8xf32>
      %567 = "stablehlo.multiply"(%565, %566) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %568 = "stablehlo.add"(%562, %567) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %569 = "stablehlo.broadcast_in_dim"(%554) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x32x1x8xf32>) -> tensor<1x32x8x8xf32>
      %570 = "stablehlo.multiply"(%559, %569) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %571 = "stablehlo.add"(%564, %570) : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %572 = "stablehlo.concatenate"(%571, %568) <{dimension = 3 : i64}> : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x16xf32>
      %573 = "stablehlo.convert"(%572) : (tensor<1x32x8x16xf32>) -> tensor<1x32x8x16xbf16>
      %574 = "stablehlo.reshape"(%573) : (tensor<1x32x8x16xbf16>) -> tensor<1x32x128xbf16>
      %575 = "stablehlo.optimization_barrier"(%arg37) : (tensor<64x128xf32>) -> tensor<64x128xf32>
      %576 = "stablehlo.convert"(%575) : (tensor<64x128xf32>) -> tensor<64x128xbf16>
      %577 = "stablehlo.all_gather"(%576) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<64x128xbf16>) -> tensor<128x128xbf16>
      %578 = "stablehlo.dot_general"(%50, %574) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<128x128xbf16>
      %579 = "stablehlo.dot_general"(%574, %577) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x32x128xbf16>, tensor<128x128xbf16>) -> tensor<1x32x128xbf16>
      %580 = "stablehlo.convert"(%578) : (tensor<128x128xbf16>) -> tensor<128x128xf32>
      %581 = "stablehlo.reduce_scatter"(%580) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg61: tensor<f32>, %arg62: tensor<f32>):
        %698 = "stablehlo.add"(%arg61, %arg62) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%698) : (tensor<f32>) -> ()
      }) : (tensor<128x128xf32>) -> tensor<64x128xf32>
      %582 = "stablehlo.add"(%544, %579) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %583:3 = "stablehlo.optimization_barrier"(%30, %32, %582) : (tensor<1x32x128xbf16>, tensor<128xbf16>, tensor<1x32x128xbf16>) -> (tensor<1x32x128xbf16>, tensor<128xbf16>, tensor<1x32x128xbf16>)
      %584 = "stablehlo.convert"(%583#0) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %585 = "stablehlo.multiply"(%584, %584) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %586 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %587 = "stablehlo.reduce"(%585, %586) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg59: tensor<f32>, %arg60: tensor<f32>):
        %697 = "stablehlo.add"(%arg59, %arg60) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%697) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %588 = "stablehlo.broadcast_in_dim"(%587) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %589 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %590 = "stablehlo.broadcast_in_dim"(%589) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %591 = "stablehlo.divide"(%588, %590) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %592 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
      %593 = "stablehlo.broadcast_in_dim"(%592) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %594 = "stablehlo.add"(%591, %593) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %595 = "stablehlo.rsqrt"(%594) : (tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %596 = "stablehlo.divide"(%595, %594) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %597 = "stablehlo.constant"() <{value = dense<-5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %598 = "stablehlo.broadcast_in_dim"(%597) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %599 = "stablehlo.multiply"(%598, %596) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %600 = "stablehlo.broadcast_in_dim"(%595) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %601 = "stablehlo.multiply"(%584, %600) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %602 = "stablehlo.convert"(%601) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %603 = "stablehlo.broadcast_in_dim"(%583#1) <{broadcast_dimensions = array<i64: 2>}> : (tensor<128xbf16>) -> tensor<1x1x128xbf16>
      %604 = "stablehlo.multiply"(%602, %583#2) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %605 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %606 = "stablehlo.reduce"(%604, %605) <{dimensions = array<i64: 1>}> ({
      ^bb0(%arg57: tensor<bf16>, %arg58: tensor<bf16>):
        %696 = "stablehlo.add"(%arg57, %arg58) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
        "stablehlo.return"(%696) : (tensor<bf16>) -> ()
      }) : (tensor<1x32x128xbf16>, tensor<bf16>) -> tensor<1x128xbf16>
      %607 = "stablehlo.reshape"(%606) : (tensor<1x128xbf16>) -> tensor<1x1x128xbf16>
      %608 = "stablehlo.broadcast_in_dim"(%603) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x128xbf16>) -> tensor<1x32x128xbf16>
      %609 = "stablehlo.multiply"(%583#2, %608) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %610 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %611 = "stablehlo.reduce"(%607, %610) <{dimensions = array<i64: 0, 1>}> ({
      ^bb0(%arg55: tensor<bf16>, %arg56: tensor<bf16>):
        %695 = "stablehlo.add"(%arg55, %arg56) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
        "stablehlo.return"(%695) : (tensor<bf16>) -> ()
      }) : (tensor<1x1x128xbf16>, tensor<bf16>) -> tensor<128xbf16>
      %612 = "stablehlo.convert"(%609) : (tensor<1x32x128xbf16>) -> tensor<1x32x128xf32>
      %613 = "stablehlo.multiply"(%584, %612) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %614 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %615 = "stablehlo.reduce"(%613, %614) <{dimensions = array<i64: 2>}> ({
      ^bb0(%arg53: tensor<f32>, %arg54: tensor<f32>):
        %694 = "stablehlo.add"(%arg53, %arg54) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%694) : (tensor<f32>) -> ()
      }) : (tensor<1x32x128xf32>, tensor<f32>) -> tensor<1x32xf32>
      %616 = "stablehlo.reshape"(%615) : (tensor<1x32xf32>) -> tensor<1x32x1xf32>
      %617 = "stablehlo.broadcast_in_dim"(%595) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x32x1xf32>) -> tensor<1x32x128xf32>
      %618 = "stablehlo.multiply"(%612, %617) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %619 = "stablehlo.multiply"(%616, %599) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %620 = "stablehlo.constant"() <{value = dense<1.280000e+02> : tensor<f32>}> : () -> tensor<f32>
      %621 = "stablehlo.broadcast_in_dim"(%620) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x1xf32>
      %622 = "stablehlo.divide"(%619, %621) : (tensor<1x32x1xf32>, tensor<1x32x1xf32>) -> tensor<1x32x1xf32>
      %623 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
      %624 = "stablehlo.reduce"(%622, %623) <{dimensions = array<i64: 0, 2>}> ({
      ^bb0(%arg51: tensor<f32>, %arg52: tensor<f32>):
        %693 = "stablehlo.add"(%arg51, %arg52) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%693) : (tensor<f32>) -> ()
      }) : (tensor<1x32x1xf32>, tensor<f32>) -> tensor<32xf32>
      %625 = "stablehlo.broadcast_in_dim"(%624) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf32>) -> tensor<1x32xf32>
      %626 = "stablehlo.broadcast_in_dim"(%625) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x32xf32>) -> tensor<1x32x128xf32>
      %627 = "stablehlo.multiply"(%584, %626) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %628 = "stablehlo.add"(%618, %627) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %629 = "stablehlo.multiply"(%626, %584) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %630 = "stablehlo.add"(%628, %629) : (tensor<1x32x128xf32>, tensor<1x32x128xf32>) -> tensor<1x32x128xf32>
      %631 = "stablehlo.convert"(%630) : (tensor<1x32x128xf32>) -> tensor<1x32x128xbf16>
      %632 = "stablehlo.add"(%420, %631) : (tensor<1x32x128xbf16>, tensor<1x32x128xbf16>) -> tensor<1x32x128xbf16>
      %633 = "stablehlo.convert"(%611) : (tensor<128xbf16>) -> tensor<128xf32>
      %634 = "stablehlo.reduce_scatter"(%633) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg49: tensor<f32>, %arg50: tensor<f32>):
        %692 = "stablehlo.add"(%arg49, %arg50) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%692) : (tensor<f32>) -> ()
      }) : (tensor<128xf32>) -> tensor<64xf32>
      %635 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
      %636 = "stablehlo.broadcast_in_dim"(%635) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<512x128xbf16>
      %637 = "stablehlo.scatter"(%636, %29, %632) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
      ^bb0(%arg47: tensor<bf16>, %arg48: tensor<bf16>):
        %691 = "stablehlo.add"(%arg47, %arg48) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
        "stablehlo.return"(%691) : (tensor<bf16>) -> ()
      }) : (tensor<512x128xbf16>, tensor<1x32x1xi32>, tensor<1x32x128xbf16>) -> tensor<512x128xbf16>
      %638 = "stablehlo.convert"(%637) : (tensor<512x128xbf16>) -> tensor<512x128xf32>
      %639 = "stablehlo.reduce_scatter"(%638) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
      ^bb0(%arg45: tensor<f32>, %arg46: tensor<f32>):
        %690 = "stablehlo.add"(%arg45, %arg46) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%690) : (tensor<f32>) -> ()
      }) : (tensor<512x128xf32>) -> tensor<256x128xf32>
      %640 = "stablehlo.all_reduce"(%242) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg43: tensor<f32>, %arg44: tensor<f32>):
        %689 = "stablehlo.add"(%arg43, %arg44) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%689) : (tensor<f32>) -> ()
      }) : (tensor<f32>) -> tensor<f32>
      %641 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %642 = "stablehlo.broadcast_in_dim"(%641) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<256x128xf32>
      %643 = "stablehlo.multiply"(%642, %639) : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
      %644 = "stablehlo.subtract"(%arg29, %643) : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
      %645 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %646 = "stablehlo.broadcast_in_dim"(%645) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64xf32>
      %647 = "stablehlo.multiply"(%646, %634) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %648 = "stablehlo.subtract"(%arg30, %647) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %649 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %650 = "stablehlo.broadcast_in_dim"(%649) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64xf32>
      %651 = "stablehlo.multiply"(%650, %422) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %652 = "stablehlo.subtract"(%arg31, %651) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %653 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %654 = "stablehlo.broadcast_in_dim"(%653) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64x448xf32>
      %655 = "stablehlo.multiply"(%654, %369) : (tensor<64x448xf32>, tensor<64x448xf32>) -> tensor<64x448xf32>
      %656 = "stablehlo.subtract"(%arg32, %655) : (tensor<64x448xf32>, tensor<64x448xf32>) -> tensor<64x448xf32>
      %657 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %658 = "stablehlo.broadcast_in_dim"(%657) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<224x128xf32>
      %659 = "stablehlo.multiply"(%658, %335) : (tensor<224x128xf32>, tensor<224x128xf32>) -> tensor<224x128xf32>
      %660 = "stablehlo.subtract"(%arg33, %659) : (tensor<224x128xf32>, tensor<224x128xf32>) -> tensor<224x128xf32>
      %661 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %662 = "stablehlo.broadcast_in_dim"(%661) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64x448xf32>
      %663 = "stablehlo.multiply"(%662, %362) : (tensor<64x448xf32>, tensor<64x448xf32>) -> tensor<64x448xf32>
      %664 = "stablehlo.subtract"(%arg34, %663) : (tensor<64x448xf32>, tensor<64x448xf32>) -> tensor<64x448xf32>
      %665 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %666 = "stablehlo.broadcast_in_dim"(%665) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64x32xf32>
      %667 = "stablehlo.multiply"(%666, %543) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
      %668 = "stablehlo.subtract"(%arg35, %667) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
      %669 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %670 = "stablehlo.broadcast_in_dim"(%669) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64x128xf32>
      %671 = "stablehlo.multiply"(%670, %429) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
      %672 = "stablehlo.subtract"(%arg36, %671) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
      %673 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %674 = "stablehlo.broadcast_in_dim"(%673) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64x128xf32>
      %675 = "stablehlo.multiply"(%674, %581) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
      %676 = "stablehlo.subtract"(%arg37, %675) : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
      %677 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %678 = "stablehlo.broadcast_in_dim"(%677) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64x32xf32>
      %679 = "stablehlo.multiply"(%678, %506) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
      %680 = "stablehlo.subtract"(%arg38, %679) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
      %681 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %682 = "stablehlo.broadcast_in_dim"(%681) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64xf32>
      %683 = "stablehlo.multiply"(%682, %328) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %684 = "stablehlo.subtract"(%arg39, %683) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %685 = "stablehlo.constant"() <{value = dense<1.000000e-01> : tensor<f32>}> : () -> tensor<f32>
      %686 = "stablehlo.broadcast_in_dim"(%685) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64x512xf32>
      %687 = "stablehlo.multiply"(%686, %277) : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
      %688 = "stablehlo.subtract"(%arg40, %687) : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
      "sdy.return"(%644, %648, %652, %656, %660, %664, %668, %672, %676, %680, %684, %688, %640) : (tensor<256x128xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x448xf32>, tensor<224x128xf32>, tensor<64x448xf32>, tensor<64x32xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x32xf32>, tensor<64xf32>, tensor<64x512xf32>, tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<8xf32>, tensor<512x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128x448xf32>, tensor<448x128xf32>, tensor<128x448xf32>, tensor<128x32xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<128x512xf32>, tensor<2x32xi32>, tensor<2x32xi32>) -> (tensor<512x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128x448xf32>, tensor<448x128xf32>, tensor<128x448xf32>, tensor<128x32xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<128x512xf32>, tensor<f32>)
    "func.return"(%19#0, %19#1, %19#2, %19#3, %19#4, %19#5, %19#6, %19#7, %19#8, %19#9, %19#10, %19#11, %19#12) : (tensor<512x128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128x448xf32>, tensor<448x128xf32>, tensor<128x448xf32>, tensor<128x32xf32>, tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x32xf32>, tensor<128xf32>, tensor<128x512xf32>, tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<32x1x32xi1>, tensor<1x2x32x4x32xf32>, tensor<f32>) -> tensor<1x2x32x4x32xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg10: tensor<32x1x32xi1>, %arg11: tensor<1x2x32x4x32xf32>, %arg12: tensor<f32>):
    %13 = "stablehlo.convert"(%arg12) : (tensor<f32>) -> tensor<f32>
    %14 = "stablehlo.broadcast_in_dim"(%arg10) <{broadcast_dimensions = array<i64: 2, 3, 4>}> : (tensor<32x1x32xi1>) -> tensor<1x2x32x4x32xi1>
    %15 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x32x4x32xf32>
    %16 = "stablehlo.select"(%14, %arg11, %15) : (tensor<1x2x32x4x32xi1>, tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
    "func.return"(%16) : (tensor<1x2x32x4x32xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<1x32x512xi1>, tensor<1x32x512xf32>, tensor<f32>) -> tensor<1x32x512xf32>, res_attrs = [{}], sym_name = "_where_0", sym_visibility = "private"}> ({
  ^bb0(%arg7: tensor<1x32x512xi1>, %arg8: tensor<1x32x512xf32>, %arg9: tensor<f32>):
    %10 = "stablehlo.convert"(%arg9) : (tensor<f32>) -> tensor<f32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x512xf32>
    %12 = "stablehlo.select"(%arg7, %arg8, %11) : (tensor<1x32x512xi1>, tensor<1x32x512xf32>, tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
    "func.return"(%12) : (tensor<1x32x512xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<1x32x512xi1>, tensor<1x32x512xf32>) -> tensor<1x32x512xf32>, res_attrs = [{}], sym_name = "_where_1", sym_visibility = "private"}> ({
  ^bb0(%arg5: tensor<1x32x512xi1>, %arg6: tensor<1x32x512xf32>):
    %7 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x32x512xf32>
    %9 = "stablehlo.select"(%arg5, %arg6, %8) : (tensor<1x32x512xi1>, tensor<1x32x512xf32>, tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
    "func.return"(%9) : (tensor<1x32x512xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<32x1x32xi1>, tensor<1x2x32x4x32xf32>, tensor<f32>) -> (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xi1>), res_attrs = [{}, {}], sym_name = "_where_2", sym_visibility = "private"}> ({
  ^bb0(%arg2: tensor<32x1x32xi1>, %arg3: tensor<1x2x32x4x32xf32>, %arg4: tensor<f32>):
    %3 = "stablehlo.convert"(%arg4) : (tensor<f32>) -> tensor<f32>
    %4 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64: 2, 3, 4>}> : (tensor<32x1x32xi1>) -> tensor<1x2x32x4x32xi1>
    %5 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x32x4x32xf32>
    %6 = "stablehlo.select"(%4, %arg3, %5) : (tensor<1x2x32x4x32xi1>, tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
    "func.return"(%6, %4) : (tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<1x2x32x4x32xi1>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>, res_attrs = [{}], sym_name = "_where_3", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<1x2x32x4x32xi1>, %arg1: tensor<1x2x32x4x32xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x32x4x32xf32>
    %2 = "stablehlo.select"(%arg0, %arg1, %1) : (tensor<1x2x32x4x32xi1>, tensor<1x2x32x4x32xf32>, tensor<1x2x32x4x32xf32>) -> tensor<1x2x32x4x32xf32>
    "func.return"(%2) : (tensor<1x2x32x4x32xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

