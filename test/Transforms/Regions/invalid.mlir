// RUN: %rows %s | commsched-opt -split-input-file -verify-diagnostics --commsched-compile-regions

func.func @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@below {{the other operation is here}}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @second(%x: tensor<4xf32>, %p: i1) -> tensor<4xf32> {
  %0 = scf.if %p -> tensor<4xf32> {
    // expected-error@below {{'math.sin' op compiles the region 'a' with 'canonicalize', but 'math.exp' compiles it with 'cse'}}
    %1 = math.sin %x {commsched.compile_with = {pipeline = "canonicalize", region = "a"}} : tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  } {commsched.compile_with = {pipeline = "cse", region = "b"}}
  return %0 : tensor<4xf32>
}

// -----

// What is no scheduling problem is refused as in other passes.
commsched.group @dp size(4)
func.func @order(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-note@below {{}}
  %f = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 2 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  // expected-error@below {{commsched.order}}
  %g = commsched.all_reduce %x on @dp reduction(sum) {commsched.order = 1 : i64}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %0 = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %1 = commsched.wait %g : !commsched.future<tensor<4xf32>>
  %2 = math.exp %0 {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
  return %2, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @row(%x: tensor<4xf32>) {
  ROW
  return
}

// -----

  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse", region = "a"}} : tensor<4xf32>
  // expected-error@below {{'math.sin' op names the pipeline 'cse,no-such-pass', which is not valid: 'no-such-pass' does not refer to a registered pass or pass pipeline}}
  %1 = math.sin %0 {commsched.compile_with = {pipeline = "cse,no-such-pass", region = "b"}} : tensor<4xf32>
  %2 = math.cos %1 {commsched.compile_with = {pipeline = "cse,no-such-pass", region = "b"}} : tensor<4xf32>

  // expected-error@below {{'math.exp' op names the pipeline 'canonicalize{nothing=1}', which is not valid: }}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "canonicalize{nothing=1}"}} : tensor<4xf32>

  // expected-error@below {{'math.exp' op names the pipeline 'func.func(cse', which is not valid: }}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "func.func(cse"}} : tensor<4xf32>

  // expected-error@below {{'math.exp' op names the pipeline 'commsched-report', which is not valid: }}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "commsched-report"}} : tensor<4xf32>

  // expected-error@below {{'math.exp' op names the pipeline 'cse,builtin.module(func.func(cse))', in which 'builtin.module(func.func(cse))' runs on no 'func.func', which a region becomes}}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse,builtin.module(func.func(cse))"}} : tensor<4xf32>

  // expected-error@below {{'math.exp' op names the pipeline 'func.func(any(cse))', in which 'any(cse)' runs on no 'func.func'}}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "func.func(any(cse))"}} : tensor<4xf32>

  // A pipeline that makes operations of a dialect that nobody uses.
  // expected-error@below {{'math.exp' op names the pipeline 'convert-math-to-llvm', which needs the dialect 'llvm', which is not loaded}}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "convert-math-to-llvm"}} : tensor<4xf32>

  // expected-note@below {{the other operation is here}}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "cse"}} : tensor<4xf32>
  // expected-error@below {{'math.sin' op compiles the region without a name with 'canonicalize', but 'math.exp' compiles it with 'cse'}}
  %1 = math.sin %0 {commsched.compile_with = {pipeline = "canonicalize"}} : tensor<4xf32>

  // expected-error@below {{'math.exp' op names the pipeline 'commsched-estimate-runtime{profile=/etc/passwd}', in which the option 'profile=/etc/passwd' names a file: only users name files}}
  %0 = math.exp %x {commsched.compile_with = {pipeline = "commsched-estimate-runtime{profile=/etc/passwd}"}} : tensor<4xf32>
