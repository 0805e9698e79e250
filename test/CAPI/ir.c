//===- ir.c - Test of the C interface of the dialects and passes ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: commsched-capi-ir-test 2>&1 | FileCheck %s
//===----------------------------------------------------------------------===//

#include "mlir-c/IR.h"
#include "commsched-c/Dialects.h"
#include "commsched-c/Passes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Dialect/Arith.h"
#include "mlir-c/Dialect/Func.h"
#include "mlir-c/Pass.h"

#include <stdio.h>

static MlirStringRef text(const char *characters) {
  return mlirStringRefCreateFromCString(characters);
}

static void print(MlirStringRef part, void *userData) {
  printf("%.*s", (int)part.length, part.data);
}

static MlirContext createContext(const char *table) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__func__(), registry);
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__arith__(), registry);
  commschedRegisterAllDialects(registry);
  commschedRegisterDialectsByName(registry);
  if (table)
    printf("table: %d\n",
           mlirLogicalResultIsSuccess(commschedRegisterOperationTable(
               registry, text(table), text("mine.json"), /*byName=*/true, print,
               NULL)));
  MlirContext context =
      mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  mlirDialectRegistryDestroy(registry);
  return context;
}

static void run(MlirContext context, const char *source, const char *pipeline) {
  MlirModule module = mlirModuleCreateParse(context, text(source));
  if (mlirModuleIsNull(module)) {
    printf("not parsed\n");
    return;
  }
  MlirPassManager passes = mlirPassManagerCreate(context);
  MlirOpPassManager nested = mlirPassManagerGetAsOpPassManager(passes);
  if (mlirLogicalResultIsFailure(
          mlirParsePassPipeline(nested, text(pipeline), print, NULL)))
    printf("\nno such pipeline\n");
  else if (mlirLogicalResultIsFailure(
               mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module))))
    printf("failed\n");
  else
    mlirOperationPrint(mlirModuleGetOperation(module), print, NULL);
  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
}

static void testPasses(void) {
  const char *source =
      "module {\n"
      "commsched.group @dp size(8)\n"
      "func.func @step(%shard: tensor<8xf32>, %x: tensor<8xf32>)\n"
      "    -> (tensor<64xf32>, tensor<8xf32>) {\n"
      "  %y = arith.addf %x, %x : tensor<8xf32>\n"
      "  %future = commsched.all_gather %shard on @dp dim(0)\n"
      "    : tensor<8xf32> -> !commsched.future<tensor<64xf32>>\n"
      "  %whole = commsched.wait %future\n"
      "    : !commsched.future<tensor<64xf32>>\n"
      "  return %whole, %y : tensor<64xf32>, tensor<8xf32>\n"
      "}\n"
      "}\n";
  MlirContext context = createContext(NULL);
  run(context, source, "builtin.module(func.func(commsched-raise-comms))");
  // CHECK: commsched.group @dp size(8)
  // CHECK: func.func @step
  // CHECK-NEXT: commsched.all_gather
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: commsched.wait
  run(context, source, "builtin.module(commsched-pipeline)");
  // CHECK: func.func @step
  // CHECK-NEXT: commsched.all_gather
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: commsched.wait
  run(context, source, "builtin.module(commsched-nothing)");
  // CHECK: 'commsched-nothing' does not refer to a registered pass
  // CHECK: no such pipeline
  run(context, "module { commsched.group @dp size(-1) }", "builtin.module()");
  // CHECK: error:
  // CHECK: not parsed
  mlirContextDestroy(context);
}

/// Operations of dialects that are known by name pass through.
static void testByName(void) {
  const char *source =
      "\"func.func\"() <{function_type = (tensor<8xf32>) -> tensor<8xf32>,\n"
      "  sym_name = \"f\"}> ({\n"
      "^bb0(%x: tensor<8xf32>):\n"
      "  %y = \"stablehlo.add\"(%x, %x)\n"
      "    : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>\n"
      "  \"func.return\"(%y) : (tensor<8xf32>) -> ()\n"
      "}) : () -> ()\n"
      "\"mine.something\"() : () -> ()\n";
  MlirContext context = createContext("{");
  run(context, source, "builtin.module()");
  mlirContextDestroy(context);
  // CHECK: mine.json
  // CHECK-SAME: table: 0
  // CHECK: error: operation being parsed with an unregistered dialect
  // CHECK: not parsed
  context = createContext("{\"version\": 1, \"dialects\": [\"mine\"],\n"
                          "\"operations\": [{\"names\": [\"mine.something\"],"
                          "\"effects\": \"none\"}]}");
  run(context, source, "builtin.module()");
  mlirContextDestroy(context);
  // CHECK: table: 1
  // CHECK: "stablehlo.add"
  // CHECK: "mine.something"
}

static void testTypes(void) {
  MlirContext context = createContext(NULL);
  MlirLocation location = mlirLocationUnknownGet(context);
  int64_t size = 64;
  MlirType number = mlirF32TypeGet(context);
  MlirAttribute noEncoding = {NULL};
  MlirType tensor = mlirRankedTensorTypeGet(1, &size, number, noEncoding);
  MlirType future = commschedFutureTypeGet(location, 1, &tensor);
  mlirTypeDump(future);
  printf("%d %d %d %d %d\n", commschedTypeIsAFuture(future),
         commschedTypeIsAFuture(tensor),
         (int)commschedFutureTypeGetNumTypes(future),
         mlirTypeEqual(commschedFutureTypeGetType(future, 0), tensor),
         mlirTypeIsNull(commschedFutureTypeGetType(future, 1)));
  // CHECK: !commsched.future<tensor<64xf32>>
  // CHECK: 1 0 1 1 1
  MlirType nothing = {NULL};
  printf("no future: %d %d %d\n", commschedTypeIsAFuture(nothing),
         (int)commschedFutureTypeGetNumTypes(tensor),
         mlirTypeIsNull(commschedFutureTypeGetType(nothing, 0)));
  // CHECK: no future: 0 0 1
  printf("null: %d\n",
         mlirTypeIsNull(commschedFutureTypeGet(location, 1, &number)));
  printf("null: %d\n",
         mlirTypeIsNull(commschedFutureTypeGet(location, 1, &nothing)));
  // CHECK: a future delivers ranked tensors, not 'f32'
  // CHECK: null: 1
  // CHECK: type 0 of a future is null
  // CHECK: null: 1
  MlirType request = commschedRequestTypeGet(context);
  mlirTypeDump(request);
  printf("request: %d %d\n", commschedTypeIsARequest(request),
         commschedTypeIsARequest(future));
  // CHECK: !commsched_rt.request
  // CHECK: request: 1 0
  MlirStringRef names[] = {
      mlirDialectHandleGetNamespace(mlirGetDialectHandle__commsched__()),
      mlirDialectHandleGetNamespace(mlirGetDialectHandle__commsched_rt__())};
  for (int i = 0; i < 2; ++i)
    printf("%.*s\n", (int)names[i].length, names[i].data);
  // CHECK: commsched{{$}}
  // CHECK: commsched_rt{{$}}
  mlirContextDestroy(context);
}

int main(void) {
  // The texts of errors appear between those of the test.
  setvbuf(stdout, NULL, _IONBF, 0);
  commschedRegisterAllPasses();
  commschedRegisterAllPasses();
  testPasses();
  testByName();
  testTypes();
  return 0;
}
