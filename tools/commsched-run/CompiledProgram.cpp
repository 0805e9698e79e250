//===- CompiledProgram.cpp - Compiled programs and their calls ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "BrainFloat.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Conversion/Pipelines.h"
#include "CommSched/Runtime/Runtime.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// CompiledProgram
//===----------------------------------------------------------------------===//

/// The global that lowering puts the program's description into.
static constexpr StringLiteral descriptionName = "commsched_program";

CompiledProgram::CompiledProgram(StringRef path) : path(path.str()) {}
CompiledProgram::~CompiledProgram() = default;

//===----------------------------------------------------------------------===//
// Loading and predicting
//===----------------------------------------------------------------------===//

LogicalResult CompiledProgram::load(MLIRContext &context, StringRef entryName,
                                    std::string &error) {
  auto keep = [&](llvm::Error inner) {
    error = "'" + path + "' " + llvm::toString(std::move(inner));
    return failure();
  };
  llvm::SourceMgr sourceMgr;
  // Diagnostics go to the handler of create().
  module = parseSourceFile<ModuleOp>(path, sourceMgr, &context);
  if (!module)
    return failure();
  llvm::Expected<func::FuncOp> found = findEntry(*module, entryName);
  if (!found)
    return keep(found.takeError());
  entry = *found;
  llvm::Expected<Signature> types = run::getSignature(entry);
  if (!types) {
    error = "'" + path + "': " + llvm::toString(types.takeError());
    return failure();
  }
  signature = std::move(*types);
  return success();
}

LogicalResult CompiledProgram::predict(StringRef profile) {
  llvm::Expected<std::shared_ptr<const cost::MeasuredTable>> table =
      loadProfile(profile, "commsched-run");
  if (!table)
    return emitError(UnknownLoc::get(module->getContext()),
                     llvm::toString(table.takeError()));
  CostAnalysis analysis(*module, table->get());
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(entry, *costs, noPredictionReason);
  if (failed(report))
    return failure();
  prediction = std::move(*report);
  return success();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

llvm::Error CompiledProgram::compile(StringRef profile, unsigned optLevel) {
  OwningOpRef<ModuleOp> lowered = module->clone();
  PassManager manager(module->getContext());
  CommSchedToRuntimeOptions options;
  options.profile = profile.str();
  buildCommSchedToLLVMPipeline(manager, options);
  if (failed(manager.run(*lowered)))
    return llvm::createStringError("'" + path + "' cannot be lowered");

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Expected<llvm::orc::JITTargetMachineBuilder> builder =
      llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  auto codeGenLevel = *llvm::CodeGenOpt::getLevel(optLevel);
  builder->setCodeGenOptLevel(codeGenLevel);
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  ExecutionEngineOptions engineOptions;
  auto optimize =
      makeOptimizingTransformer(optLevel, /*sizeLevel=*/0, machine->get());
  engineOptions.jitCodeGenOptLevel = codeGenLevel;
  engineOptions.transformer = optimize;
  llvm::Expected<std::unique_ptr<ExecutionEngine>> created =
      ExecutionEngine::create(*lowered, engineOptions, std::move(*machine));
  if (!created)
    return created.takeError();
  engine = std::move(*created);
  engine->registerSymbols(getBrainFloatSymbols);

  llvm::Expected<void (*)(void **)> code =
      engine->lookupPacked("_mlir_ciface_" + signature.name);
  if (!code)
    return code.takeError();
  function = *code;
  llvm::Expected<void *> text = engine->lookup(descriptionName);
  if (!text)
    return text.takeError();
  description = static_cast<const char *>(*text);
  llvm::Expected<ProgramSites> parsed = ProgramSites::parse(description);
  if (!parsed)
    return llvm::createStringError("'" + path + "': its description " +
                                   llvm::toString(parsed.takeError()));
  sites = std::move(*parsed);
  return llvm::Error::success();
}

void CompiledProgram::findPredictedSites() {
  siteMap = std::make_unique<SiteMap>(*module, sites);
  if (!prediction)
    return;
  for (Operation &op : entry.front())
    if (isa<CollectiveOpInterface>(op))
      predictedSites.push_back(SiteMap::lookup(siteMap->sites, &op));
  predictedSites.resize(prediction->collectives.size(), -1);
}

llvm::Expected<std::unique_ptr<CompiledProgram>>
CompiledProgram::create(MLIRContext &context, StringRef path, StringRef entry,
                        StringRef profile, unsigned optLevel) {
  std::string diagnostics;
  llvm::raw_string_ostream os(diagnostics);
  llvm::SourceMgr sourceMgr;
  SourceMgrDiagnosticHandler handler(sourceMgr, &context, os);
  std::unique_ptr<CompiledProgram> program(new CompiledProgram(path));
  std::string error;
  if (succeeded(program->load(context, entry, error)) &&
      succeeded(program->predict(profile))) {
    if (llvm::Error inner = program->compile(profile, optLevel))
      error = llvm::toString(std::move(inner));
    else
      program->findPredictedSites();
  }
  if (error.empty() && program->siteMap)
    return program;
  // The diagnostics have more detail than the last message.
  while (StringRef(diagnostics).ends_with("\n"))
    diagnostics.pop_back();
  if (diagnostics.empty())
    return llvm::createStringError(error);
  return llvm::createStringError(error.empty() ? diagnostics
                                               : diagnostics + "\n" + error);
}

//===----------------------------------------------------------------------===//
// Invocation
//===----------------------------------------------------------------------===//

namespace {

// The layout of descriptors, in words.
enum DescriptorWord : size_t { Allocated, Aligned, Offset, Sizes };

} // namespace

static size_t getDescriptorWords(const ValueType &type) {
  return Sizes + 2 * type.shape.size();
}

static std::vector<int64_t> makeDescriptor(const ValueType &type,
                                           void *buffer) {
  std::vector<int64_t> words(getDescriptorWords(type));
  words[Allocated] = words[Aligned] = reinterpret_cast<int64_t>(buffer);
  size_t rank = type.shape.size();
  int64_t stride = 1;
  for (size_t dim = rank; dim-- > 0;) {
    words[Sizes + dim] = type.shape[dim];
    words[Sizes + rank + dim] = stride;
    stride *= type.shape[dim];
  }
  return words;
}

/// Size and alignment of a result in the struct of all.
static std::pair<size_t, size_t> getResultLayout(const ValueType &type) {
  if (type.storage != run::Storage::Scalar)
    return {getDescriptorWords(type) * sizeof(int64_t), alignof(int64_t)};
  size_t bytes = type.element.bytes;
  bool complex = type.element.numberClass == NumberClass::Complex;
  return {bytes, complex ? bytes / 2 : bytes};
}

/// Whether the C interface returns the only result rather than writing it where
/// its first argument points to.
static bool isReturned(const Signature &signature) {
  return signature.results.size() == 1 &&
         signature.results.front().storage == run::Storage::Scalar &&
         signature.results.front().element.numberClass != NumberClass::Complex;
}

Invocation::Invocation(const CompiledProgram &program,
                       std::vector<Bytes> inputs)
    : program(program), inputs(std::move(inputs)),
      buffers(program.getSignature().arguments.size()),
      descriptors(program.getSignature().arguments.size()) {
  size_t size = 0;
  for (const ValueType &type : program.getSignature().results) {
    auto [bytes, alignment] = getResultLayout(type);
    size = llvm::alignTo(size, alignment);
    resultOffsets.push_back(size);
    size += bytes;
  }
  results.resize(llvm::divideCeil(size, sizeof(int64_t)));
}

Invocation::~Invocation() {
  for (void *buffer : buffers)
    if (buffer)
      commsched_release(buffer);
}

bool Invocation::allocate() {
  const Signature &signature = program.getSignature();
  for (auto [index, argument] : llvm::enumerate(signature.arguments)) {
    if (argument.type.storage == run::Storage::Scalar)
      continue;
    auto *allocate =
        argument.type.isOnHost ? commsched_allocate_host : commsched_allocate;
    buffers[index] = allocate(argument.type.getNumBytes(), /*alignment=*/0);
    if (!buffers[index])
      return false;
    descriptors[index] = makeDescriptor(argument.type, buffers[index]);
  }
  return true;
}

bool Invocation::restore() {
  for (auto [buffer, input] : llvm::zip_equal(buffers, inputs))
    if (buffer && commsched_upload(buffer, input.data(),
                                   static_cast<int64_t>(input.size())))
      return false;
  return true;
}

void Invocation::call() {
  const Signature &signature = program.getSignature();
  bool returned = isReturned(signature);
  pointers.clear();
  packed.clear();
  pointers.reserve(signature.arguments.size() + 1);
  auto pass = [&](void *pointer) {
    pointers.push_back(pointer);
    packed.push_back(&pointers.back());
  };
  if (!signature.results.empty() && !returned)
    pass(results.data());
  for (auto [index, descriptor] : llvm::enumerate(descriptors)) {
    bool scalar =
        signature.arguments[index].type.storage == run::Storage::Scalar;
    if (scalar)
      packed.push_back(inputs[index].data());
    else
      pass(descriptor.data());
  }
  if (returned)
    packed.push_back(results.data());
  program.call(packed.data());
}

bool Invocation::takeOutputs(Outputs &outputs) {
  const Signature &signature = program.getSignature();
  auto download = [](const ValueType &type, const char *buffer) {
    Bytes bytes(type.getNumBytes());
    bool failed = commsched_download(bytes.data(), buffer,
                                     static_cast<int64_t>(bytes.size()));
    return failed ? std::nullopt : std::optional(std::move(bytes));
  };
  const char *all = reinterpret_cast<const char *>(results.data());
  for (auto [type, offset] :
       llvm::zip_equal(signature.results, resultOffsets)) {
    if (type.storage == run::Storage::Scalar) {
      outputs.results.emplace_back(all + offset,
                                   all + offset + type.element.bytes);
      continue;
    }
    const auto *words = reinterpret_cast<const int64_t *>(all + offset);
    std::optional<Bytes> bytes =
        download(type, reinterpret_cast<const char *>(words[Aligned]) +
                           words[Offset] * type.element.bytes);
    if (!bytes)
      return false;
    outputs.results.push_back(std::move(*bytes));
  }
  for (auto [argument, buffer] :
       llvm::zip_equal(signature.arguments, buffers)) {
    Bytes &kept = outputs.arguments.emplace_back();
    if (argument.type.storage != run::Storage::MemRef || argument.scratch)
      continue;
    std::optional<Bytes> bytes =
        download(argument.type, static_cast<const char *>(buffer));
    if (!bytes)
      return false;
    kept = std::move(*bytes);
  }
  releaseResults();
  return true;
}

void Invocation::releaseResults() {
  // Two results may be one buffer.
  llvm::SmallPtrSet<void *, 8> released;
  const char *all = reinterpret_cast<const char *>(results.data());
  for (auto [type, offset] :
       llvm::zip_equal(program.getSignature().results, resultOffsets)) {
    if (type.storage == run::Storage::Scalar)
      continue;
    const auto *words = reinterpret_cast<const int64_t *>(all + offset);
    void *buffer = reinterpret_cast<void *>(words[Allocated]);
    if (released.insert(buffer).second)
      commsched_release(buffer);
  }
}
