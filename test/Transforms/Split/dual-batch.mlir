// RUN: commsched-opt %s --commsched-split="chunks=2 extent=widest" | %orders | FileCheck %s
// RUN: commsched-opt %s --pass-pipeline="builtin.module(commsched-pipeline{memory-budget=100%% split=off},commsched-report{format=json})" -o /dev/null > %t.whole.json
// RUN: commsched-opt %s --pass-pipeline="builtin.module(commsched-pipeline{memory-budget=100%% split=auto},commsched-report{format=json})" -o %t.split.mlir > %t.split.json
// RUN: FileCheck %s --check-prefix=CHOSEN < %t.split.mlir
// RUN: %python -c "import json; a, b = (json.load(open(f'%t.{n}.json')) for n in ('whole', 'split')); assert b['step_time_ns'] < 0.8 * a['step_time_ns'], (a, b)"

// Two sequences go through attention and experts as two independent halves: the
// rows of each expert are those of each sequence, in a dimension of their own.
// So the exchanges of one half hide behind the computation of the other one.

// The region begins at the first product and ends at the sum of the experts.
// CHECK: // order: norm flat {{([a-z_]+\.[a-z0-9_]+ )+}}attention.chunk0 {{.*}}route.chunk0 {{.*}}dispatch.chunk0 {{.*}}attention.chunk1 {{.*}}dispatch.chunk1 {{.*}}experts_up.chunk0 {{.*}}return.chunk0 {{.*}}return.chunk1 {{.*}}combine.chunk0 {{.*}}combine.chunk1 combine.whole residual{{$}}

// CHOSEN: commsched.name = "attention.chunk0"
// CHOSEN: commsched.name = "combine.chunk1"

module {
  commsched.group @ep size(8) ranks_per_node(8)

  func.func @block(%x: tensor<2x4096x2048xbf16>, %qkv: tensor<2048x6144xbf16>, %o: tensor<2048x2048xbf16>, %router: tensor<2048x64xbf16>, %up: tensor<8x2048x1408xbf16>, %down: tensor<8x1408x2048xbf16>) -> tensor<2x4096x2048xbf16> {
    %n = commsched.compute "aten.norm"(%x) {commsched.name = "norm", split = "b s _ -> b s _"} : (tensor<2x4096x2048xbf16>) -> tensor<2x4096x2048xbf16>
    %nv = commsched.compute "aten.view"(%n) {alias = 0 : i64, commsched.name = "flat", split = "b s d -> (b s) d"} : (tensor<2x4096x2048xbf16>) -> tensor<8192x2048xbf16>
    %p = commsched.compute "aten.mm"(%nv, %qkv) {commsched.name = "qkv", flops = 2.06e11, split = "m k, k n -> m n"} : (tensor<8192x2048xbf16>, tensor<2048x6144xbf16>) -> tensor<8192x6144xbf16>
    %pv = commsched.compute "aten.view"(%p) {alias = 0 : i64, commsched.name = "sequences", split = "(b s) d -> b s d"} : (tensor<8192x6144xbf16>) -> tensor<2x4096x6144xbf16>
    %a = commsched.compute "aten.attention"(%pv) {commsched.name = "attention", flops = 2.75e11, split = "b _ _ -> b _ _"} : (tensor<2x4096x6144xbf16>) -> tensor<2x4096x2048xbf16>
    %av = commsched.compute "aten.view"(%a) {alias = 0 : i64, commsched.name = "flat_out", split = "b s d -> (b s) d"} : (tensor<2x4096x2048xbf16>) -> tensor<8192x2048xbf16>
    %m = commsched.compute "aten.mm"(%av, %o) {commsched.name = "out", flops = 6.87e10, split = "m k, k n -> m n"} : (tensor<8192x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8192x2048xbf16>
    %mv = commsched.compute "aten.view"(%m) {alias = 0 : i64, commsched.name = "sequences_out", split = "(b s) d -> b s d"} : (tensor<8192x2048xbf16>) -> tensor<2x4096x2048xbf16>
    %h = commsched.compute "aten.add"(%mv, %x) {commsched.name = "sum", split = "b s d, b s d -> b s d"} : (tensor<2x4096x2048xbf16>, tensor<2x4096x2048xbf16>) -> tensor<2x4096x2048xbf16>
    %w = commsched.compute "aten.route"(%h, %router) {commsched.name = "route", flops = 2.1e9, split = "b _ _, _ _ -> b _ _"} : (tensor<2x4096x2048xbf16>, tensor<2048x64xbf16>) -> tensor<2x4096x64xbf16>
    %r = commsched.compute "moe.rows"(%h, %w) {commsched.name = "rows", split = "b _ d, b _ e -> e b _ d"} : (tensor<2x4096x2048xbf16>, tensor<2x4096x64xbf16>) -> tensor<64x2x384x2048xbf16>
    %f = commsched.all_to_all %r on @ep split_dim(0) concat_dim(0) {commsched.name = "dispatch"} : tensor<64x2x384x2048xbf16> -> !commsched.future<tensor<64x2x384x2048xbf16>>
    %d = commsched.wait %f {commsched.name = "dispatched"} : !commsched.future<tensor<64x2x384x2048xbf16>>
    %e = commsched.compute "moe.by_expert"(%d) {commsched.name = "by_expert", split = "(r e) b c d -> e b (r c) d"} : (tensor<64x2x384x2048xbf16>) -> tensor<8x2x3072x2048xbf16>
    %u = commsched.compute "moe.bmm"(%e, %up) {commsched.name = "experts_up", flops = 2.83e11, split = "e b c d, e d f -> e b c f"} : (tensor<8x2x3072x2048xbf16>, tensor<8x2048x1408xbf16>) -> tensor<8x2x3072x1408xbf16>
    %v = commsched.compute "moe.bmm"(%u, %down) {commsched.name = "experts_down", flops = 2.83e11, split = "e b c f, e f d -> e b c d"} : (tensor<8x2x3072x1408xbf16>, tensor<8x1408x2048xbf16>) -> tensor<8x2x3072x2048xbf16>
    %q = commsched.compute "moe.by_rank"(%v) {commsched.name = "by_rank", split = "e b (r c) d -> (r e) b c d"} : (tensor<8x2x3072x2048xbf16>) -> tensor<64x2x384x2048xbf16>
    %g = commsched.all_to_all %q on @ep split_dim(0) concat_dim(0) {commsched.name = "return"} : tensor<64x2x384x2048xbf16> -> !commsched.future<tensor<64x2x384x2048xbf16>>
    %b = commsched.wait %g {commsched.name = "returned"} : !commsched.future<tensor<64x2x384x2048xbf16>>
    %c = commsched.compute "moe.combine"(%b, %w) {commsched.name = "combine", split = "e b _ d, b _ e -> b _ d"} : (tensor<64x2x384x2048xbf16>, tensor<2x4096x64xbf16>) -> tensor<2x4096x2048xbf16>
    %y = commsched.compute "aten.add"(%c, %h) {commsched.name = "residual", split = "b s d, b s d -> b s d"} : (tensor<2x4096x2048xbf16>, tensor<2x4096x2048xbf16>) -> tensor<2x4096x2048xbf16>
    return %y : tensor<2x4096x2048xbf16>
  }
}
