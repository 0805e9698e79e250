// RUN: commsched-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// A step that repeats. Two results may be one value.
func.func @step(%w: tensor<4xf32> {
      commsched.role = "parameter", commsched.carried = 2 : i64},
    %m: tensor<4xf32> {commsched.carried = 0 : i64}, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<f32>, tensor<4xf32>) {
  %loss = commsched.compute "loss"(%w, %x)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %w, %loss, %w : tensor<4xf32>, tensor<f32>, tensor<4xf32>
}

// A declaration.
func.func private @declared(tensor<4xf32> {commsched.carried = 0 : i64})
    -> tensor<4xf32>

// -----

// expected-error@below {{'func.func' op attribute 'commsched.carried' of argument 1 must be the number of a result as an i64, not @f}}
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32> {commsched.carried = @f}) {
  return
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.carried' of argument 0 must be the number of a result as an i64, not -1 : i64}}
func.func @f(%x: tensor<4xf32> {commsched.carried = -1 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.carried' of argument 0 must be the number of a result as an i64, not 0 : i32}}
func.func @f(%x: tensor<4xf32> {commsched.carried = 0 : i32}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.carried' of argument 0 names result 1, but the function has 1}}
func.func @f(%x: tensor<4xf32> {commsched.carried = 1 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.carried' of argument 1 names result 0, whose type is 'tensor<4xf32>', not 'tensor<8xf32>'}}
func.func @f(%x: tensor<4xf32>, %y: tensor<8xf32> {commsched.carried = 0 : i64})
    -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.carried' of argument 2 names result 0, which argument 0 takes}}
func.func @f(%x: tensor<4xf32> {commsched.carried = 0 : i64},
             %y: tensor<4xf32> {commsched.carried = 1 : i64},
             %z: tensor<4xf32> {commsched.carried = 0 : i64})
    -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@below {{'arith.negf' op attribute 'commsched.carried' belongs on an argument, not on an operation}}
  %0 = arith.negf %x {commsched.carried = 0 : i64} : tensor<4xf32>
  return
}

// -----

// A step of two functions that repeats.
func.func @forward(%w: tensor<4xf32> {
      commsched.role = "parameter",
      commsched.source = {function = @update, result = 0 : i64,
                          iterations = 1 : i64}},
    %x: tensor<4xf32> {commsched.role = "input"})
    -> (tensor<f32>, tensor<4xf32>) {
  %loss = commsched.compute "loss"(%w, %x)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %loss, %w : tensor<f32>, tensor<4xf32>
}

func.func @update(%w: tensor<4xf32> {
      commsched.source = {function = @forward, result = 1 : i64}},
    %m: tensor<4xf32> {
      commsched.source = {function = @update, result = 1 : i64,
                          iterations = 1 : i64}},
    %l: tensor<f32> {
      commsched.source = {function = @forward, result = 0 : i64,
                          iterations = 0 : i64}})
    -> (tensor<4xf32>, tensor<4xf32>) {
  return %w, %m : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 1 must be a dictionary, not @f}}
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32> {commsched.source = @f}) {
  return
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 has the unknown key 'distance'}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @f, result = 0 : i64, distance = 1 : i64}}) {
  return
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 lacks the key 'function'}}
func.func @f(%x: tensor<4xf32> {commsched.source = {result = 0 : i64}}) {
  return
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 lacks the key 'result'}}
func.func @f(%x: tensor<4xf32> {commsched.source = {function = @f}}) {
  return
}

// -----

// expected-error@below {{'func.func' op key 'function' of attribute 'commsched.source' of argument 0 must be a symbol, not "f"}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = "f", result = 0 : i64}}) {
  return
}

// -----

// expected-error@below {{'func.func' op key 'result' of attribute 'commsched.source' of argument 0 must be the number of a result as an i64, not -1 : i64}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @f, result = -1 : i64}}) {
  return
}

// -----

// expected-error@below {{'func.func' op key 'result' of attribute 'commsched.source' of argument 0 must be the number of a result as an i64, not 1 : i32}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @f, result = 1 : i32}}) {
  return
}

// -----

// expected-error@below {{'func.func' op key 'iterations' of attribute 'commsched.source' of argument 0 must be 0 or 1 as an i64, not 2 : i64}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @f, result = 0 : i64, iterations = 2 : i64}}) {
  return
}

// -----

// expected-error@below {{'func.func' op key 'iterations' of attribute 'commsched.source' of argument 0 must be 0 or 1 as an i64, not true}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @f, result = 0 : i64, iterations = true}}) {
  return
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 names '@g', which is no function of the module}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @g, result = 0 : i64, iterations = 1 : i64}}) {
  return
}

// -----

// expected-note@below {{the symbol is this operation}}
commsched.group @g size(2)

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 names '@g', which is no function of the module}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @g, result = 0 : i64}}) {
  return
}

// -----

// expected-note@below {{the function is here}}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 names result 1 of '@g', which has 1 results}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @g, result = 1 : i64}}) {
  return
}

// -----

// expected-note@below {{the function is here}}
func.func @g(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 names result 0 of '@g', whose type is 'tensor<8xf32>', not 'tensor<4xf32>'}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @g, result = 0 : i64}}) {
  return
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 names '@g' with 'iterations' = 0, but that function does not stand before '@f'}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @g, result = 0 : i64}}) {
  return
}

// expected-note@below {{the function is here}}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@below {{'func.func' op attribute 'commsched.source' of argument 0 names '@f' with 'iterations' = 0, but that function does not stand before '@f'}}
// expected-note@below {{the function is here}}
func.func @f(%x: tensor<4xf32> {commsched.source = {
    function = @f, result = 0 : i64}}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@below {{'arith.negf' op attribute 'commsched.source' belongs on an argument, not on an operation}}
  %0 = arith.negf %x {commsched.source = {}} : tensor<4xf32>
  return
}

// -----

// expected-error@below {{'func.func' op unknown attribute 'commsched.source' on result 0}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {commsched.source = {}}) {
  return %x : tensor<4xf32>
}
