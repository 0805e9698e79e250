//===- commsched-opt.cpp - Driver of CommSched's passes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/Main.h"

#include "CommSched/OperationTables/NamedDialects.h"
#include "CommSched/OperationTables/OperationTable.h"
#include "CommSched/Register.h"
#include "CommSched/Support/OutputFile.h"
#include "Registration.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cctype>

using namespace mlir;
using namespace mlir::commsched;

void mlir::commsched::registerForOpt(DialectRegistry &registry) {
  registerUpstreamDialects(registry);
  registerUpstreamPasses();
  registerDialects(registry);
  registerDialectsByName(registry);
  mlir::commsched::registerAllPasses();
}

LogicalResult mlir::commsched::registerTables(DialectRegistry &registry,
                                              ArrayRef<std::string> files,
                                              raw_ostream &errors) {
  for (StringRef file : files) {
    Result<std::shared_ptr<const OperationTable>> table =
        OperationTable::read(file);
    if (!table) {
      errors << "commsched-opt: " << table.error() << "\n";
      return failure();
    }
    registerOperationTable(registry, *table);
    registerNamedDialects(
        registry, llvm::to_vector_of<StringRef>((*table)->getDialects()));
  }
  return success();
}

/// Whether a program is HLO as text, or in a binary form that is not MLIR's.
static bool isForeign(StringRef program) {
  if (isBytecode(llvm::MemoryBufferRef(program, "")))
    return false;
  StringRef start = program.take_front(1024);
  if (llvm::any_of(start, [](unsigned char letter) {
        return letter < 0x20 && !std::isspace(letter);
      }))
    return true;
  for (start = start.ltrim(); start.starts_with("//"); start = start.ltrim())
    start = start.split('\n').second;
  return start.starts_with("HloModule ");
}

/// Runs the passes on the file `input` and writes the result to `output`, whole
/// or not at all.
static LogicalResult runOnFile(StringRef input, StringRef output,
                               DialectRegistry &registry,
                               const MlirOptMainConfig &config) {
  auto fail = [](const llvm::Twine &message) {
    llvm::errs() << message << "\n";
    return failure();
  };
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &message);
  if (!buffer)
    return fail(message);
  if (isForeign(buffer->getBuffer()))
    return fail(input + ": error: this is no MLIR; convert HLO first: " +
                getConversionCommand(input));
  OutputFile file(output);
  if (!file.getError() &&
      failed(MlirOptMain(file.os(), std::move(buffer), registry, config)))
    return failure();
  if (std::error_code error = file.keep())
    return fail("cannot write " +
                (output == "-" ? "the standard output" : "'" + output + "'") +
                ": " + error.message());
  return success();
}

int mlir::commsched::optMain(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) {
    os << "CommSched version " COMMSCHED_VERSION "\n";
  });
  DialectRegistry registry;
  registerForOpt(registry);
  llvm::cl::list<std::string> tables(
      "operations",
      llvm::cl::desc("A table of operations (docs/guide/operation-tables.md)"),
      llvm::cl::value_desc("file"));
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "CommSched optimizer driver\n", registry);
  if (failed(registerTables(registry, tables, llvm::errs())))
    return EXIT_FAILURE;
  const MlirOptMainConfig asked = MlirOptMainConfig::createFromCLOptions();
  MlirOptMainConfig config = asked;
  // MLIR collects remarks even if no filter lets one through, and passes would
  // find out for nobody what to say.
  config.setPassPipelineSetupFn([&](PassManager &passes) {
    if (!asked.shouldEmitRemarks())
      passes.getContext()->setRemarkEngine(nullptr);
    return asked.setupPassPipeline(passes);
  });
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM init(argc, argv);
  return asMainReturnCode(runOnFile(input, output, registry, config));
}
