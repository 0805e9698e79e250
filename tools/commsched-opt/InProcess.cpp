//===- InProcess.cpp - commsched-opt without a process of its own ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/InProcess.h"

#include "Registration.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/ParseUtilities.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"

#include <optional>

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// The flags of a run.
struct Flags {
  /// Names and options of passes and pipelines, in order.
  SmallVector<std::pair<StringRef, StringRef>> passes;
  /// Files with tables of operations.
  std::vector<std::string> tables;
  bool emitBytecode = false;
  bool allowUnregisteredDialects = false;
  bool printGeneric = false;
};

/// Passes the text on to a function.
class SinkStream : public llvm::raw_ostream {
public:
  SinkStream(TextSink sink, void *userData) : sink(sink), userData(userData) {}
  ~SinkStream() override { flush(); }

private:
  void write_impl(const char *text, size_t size) override {
    sink(text, size, userData);
    position += size;
  }
  uint64_t current_pos() const override { return position; }

  TextSink sink;
  void *userData;
  uint64_t position = 0;
};

} // namespace

static const DialectRegistry &getRegistry() {
  static const DialectRegistry *registry = [] {
    auto *created = new DialectRegistry();
    commsched::registerForOpt(*created);
    return created;
  }();
  return *registry;
}

/// Passes of MLIR write to standard output or keep state outside of their
/// context; these are known not to.
static bool isSupportedPass(StringRef name) {
  return name.contains("commsched") ||
         llvm::is_contained(
             {"canonicalize", "cse", "inline", "strip-debuginfo", "symbol-dce"},
             name);
}

static const PassRegistryEntry *lookUp(StringRef name) {
  if (const PassPipelineInfo *pipeline = PassPipelineInfo::lookup(name))
    return pipeline;
  return PassInfo::lookup(name);
}

/// Returns std::nullopt if one of the flags is not supported.
static std::optional<Flags> parseFlags(ArrayRef<const char *> texts) {
  Flags flags;
  for (StringRef text : texts) {
    if (!text.consume_front("--"))
      return std::nullopt;
    if (text == "emit-bytecode") {
      flags.emitBytecode = true;
    } else if (text == "allow-unregistered-dialect") {
      flags.allowUnregisteredDialects = true;
    } else if (text == "mlir-print-op-generic") {
      flags.printGeneric = true;
    } else if (text.consume_front("operations=")) {
      flags.tables.push_back(text.str());
    } else {
      auto [name, options] = text.split('=');
      if (!isSupportedPass(name) || !lookUp(name))
        return std::nullopt;
      flags.passes.push_back({name, options});
    }
  }
  return flags;
}

static LogicalResult addPasses(PassManager &passes, const Flags &flags) {
  auto report = [&](const Twine &message) -> LogicalResult {
    emitError(UnknownLoc::get(passes.getContext())) << message;
    return failure();
  };
  for (auto [name, options] : flags.passes)
    if (failed(lookUp(name)->addToPipeline(passes, options, report)))
      return failure();
  return success();
}

/// Whether an option of a pass names standard output, as a file: "-".
static bool writesToStandardOutput(const PassManager &passes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  passes.printAsTextualPipeline(os);
  return llvm::Regex("=-[ }]").match(text);
}

static LogicalResult print(Operation *module, const Flags &flags,
                           FallbackAsmResourceMap &resources, raw_ostream &os) {
  if (flags.emitBytecode)
    return writeBytecodeToFile(module, os, BytecodeWriterConfig(resources));
  OpPrintingFlags printing;
  if (flags.printGeneric)
    printing.printGenericOpForm();
  AsmState state(module, printing, /*locationMap=*/nullptr, &resources);
  module->print(os, state);
  os << '\n';
  return success();
}

/// The order of the steps is that of `mlir-opt`: of several errors the first is
/// the same.
static OptStatus run(std::unique_ptr<llvm::MemoryBuffer> buffer,
                     const Flags &flags, TextSink output, raw_ostream &errors,
                     void *userData) {
  DialectRegistry registry;
  getRegistry().appendTo(registry);
  if (failed(registerTables(registry, flags.tables, errors)))
    return OptStatus::Failed;
  MLIRContext context(registry);
  context.allowUnregisteredDialects(flags.allowUnregisteredDialects);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), SMLoc());
  SourceMgrDiagnosticHandler handler(*sources, &context, errors);

  FallbackAsmResourceMap resources;
  ParserConfig config(&context, /*verifyAfterParse=*/true, &resources);
  OwningOpRef<Operation *> module =
      parseSourceFileForTool(sources, config, /*insertImplicitModule=*/true);
  if (!module)
    return OptStatus::Failed;
  PassManager passes(module.get()->getName(), PassManager::Nesting::Implicit);
  if (failed(addPasses(passes, flags)))
    return OptStatus::InvalidOption;
  if (writesToStandardOutput(passes))
    return OptStatus::Unsupported;
  if (failed(passes.run(*module)))
    return OptStatus::Failed;
  if (!output)
    return OptStatus::Succeeded;
  SinkStream os(output, userData);
  return succeeded(print(*module, flags, resources, os)) ? OptStatus::Succeeded
                                                         : OptStatus::Failed;
}

OptStatus mlir::commsched::runOpt(const char *module, size_t size,
                                  const char *const *flags, size_t numFlags,
                                  TextSink output, TextSink errors,
                                  void *userData) {
  // The registration of the passes comes before the look at the flags.
  (void)getRegistry();
  std::optional<Flags> parsed = parseFlags({flags, numFlags});
  if (!parsed)
    return OptStatus::Unsupported;
  SinkStream os(errors, userData);
  // The parser of text needs a zero behind its end.
  return run(
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(module, size), "<stdin>"),
      *parsed, output, os, userData);
}
