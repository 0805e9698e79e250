//===- passes.c - Example that runs CommSched's passes from C -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiler that uses MLIR through its C interface: it registers CommSched,
// reads a step, schedules it and prints it.
//===----------------------------------------------------------------------===//

#include "commsched-c/Passes.h"
#include "commsched-c/Dialects.h"
#include "mlir-c/Dialect/Arith.h"
#include "mlir-c/Dialect/Func.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"

#include <stdio.h>
#include <stdlib.h>

/// A step that adds first and gathers then, although the gather needs nothing
/// that is added.
static const char step[] =
    "commsched.group @dp size(8)\n"
    "func.func @step(%shard: tensor<128xf32>, %x: tensor<1024xf32>)\n"
    "    -> tensor<1024xf32> {\n"
    "  %y = arith.addf %x, %x : tensor<1024xf32>\n"
    "  %future = commsched.all_gather %shard on @dp dim(0)\n"
    "      : tensor<128xf32> -> !commsched.future<tensor<1024xf32>>\n"
    "  %whole = commsched.wait %future\n"
    "      : !commsched.future<tensor<1024xf32>>\n"
    "  %sum = arith.addf %whole, %y : tensor<1024xf32>\n"
    "  return %sum : tensor<1024xf32>\n"
    "}\n";

static const char pipeline[] = "builtin.module(commsched-pipeline)";

static MlirStringRef text(const char *characters) {
  return mlirStringRefCreateFromCString(characters);
}

static void print(MlirStringRef part, void *file) {
  fwrite(part.data, 1, part.length, file);
}

static MlirContext createContext(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__arith__(), registry);
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__func__(), registry);
  commschedRegisterAllDialects(registry);
  MlirContext context =
      mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/false);
  mlirDialectRegistryDestroy(registry);
  return context;
}

/// Runs the pipeline. MLIR has printed the reason if it fails.
static MlirLogicalResult schedule(MlirContext context, MlirModule module) {
  MlirPassManager passes = mlirPassManagerCreate(context);
  MlirLogicalResult result = mlirParsePassPipeline(
      mlirPassManagerGetAsOpPassManager(passes), text(pipeline), print, stderr);
  if (mlirLogicalResultIsSuccess(result))
    result = mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module));
  mlirPassManagerDestroy(passes);
  return result;
}

int main(void) {
  commschedRegisterAllPasses();
  MlirContext context = createContext();
  MlirModule module = mlirModuleCreateParse(context, text(step));
  int status = EXIT_FAILURE;
  if (!mlirModuleIsNull(module)) {
    if (mlirLogicalResultIsSuccess(schedule(context, module))) {
      mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
      status = EXIT_SUCCESS;
    }
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  return status;
}
