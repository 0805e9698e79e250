//===- SavedValuesAgreement.cpp - Same saved values on all ranks ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SavedValuesAgreement.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/RankTimes.h"
#include "SavedValues.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// The files of all ranks.
using Files = std::vector<std::vector<Proposal>>;

/// A rank whose proposal all follow.
struct Choice {
  size_t rank = 0;
  /// By proposal: its bytes on the rank where it takes most.
  SmallVector<int64_t> worstBytes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static FailureOr<Files> readFiles(ModuleOp module,
                                  ArrayRef<std::string> paths) {
  Files files;
  for (StringRef path : paths) {
    llvm::Expected<std::vector<Proposal>> file = readProposals(path);
    if (!file)
      return emitError(module.getLoc(), "cannot read proposals: ")
             << llvm::toString(file.takeError());
    files.push_back(std::move(*file));
  }
  return files;
}

/// Checks that every function of the files is one of `functions`.
static LogicalResult checkFunctions(ModuleOp module,
                                    ArrayRef<std::string> paths,
                                    const Files &files,
                                    ArrayRef<func::FuncOp> functions) {
  llvm::StringSet<> names;
  for (func::FuncOp function : functions)
    names.insert(toFileText(function.getSymName()));
  for (auto [path, file] : llvm::zip(paths, files))
    for (const Proposal &proposal : file)
      if (!names.contains(proposal.function))
        return emitError(module.getLoc(), "'")
               << path << "' proposes what @" << proposal.function
               << " saves, but the module has no joint function of that name";
  return success();
}

/// The proposals of all ranks for `function`.
static FailureOr<SmallVector<const Proposal *>>
findProposals(func::FuncOp function, ArrayRef<std::string> paths,
              const Files &files) {
  SmallVector<const Proposal *> ranks;
  std::string name = toFileText(function.getSymName());
  for (auto [path, file] : llvm::zip(paths, files)) {
    auto it = llvm::find_if(
        file, [&](const Proposal &it) { return it.function == name; });
    if (it == file.end())
      return function.emitError("'") << path << "' does not propose what @"
                                     << function.getSymName() << " saves";
    ranks.push_back(&*it);
  }
  return ranks;
}

/// Checks that all ranks can save the same values.
static LogicalResult checkSameValues(func::FuncOp function,
                                     ArrayRef<std::string> paths,
                                     ArrayRef<const Proposal *> ranks) {
  const Proposal &first = *ranks.front();
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    const Proposal &other = *ranks[rank];
    auto emitDifference = [&] {
      return function.emitError("@")
             << function.getSymName() << " is not the same program in '"
             << paths[0] << "' and '" << paths[rank] << "': ";
    };
    size_t count = std::min(first.values.size(), other.values.size());
    for (size_t index = 0; index < count; ++index)
      if (first.values[index].name != other.values[index].name)
        return emitDifference() << "value " << index << " is '"
                                << first.values[index].name << "' in one and '"
                                << other.values[index].name << "' in the other";
    if (first.values.size() != other.values.size())
      return emitDifference() << first.values.size() << " values in one, "
                              << other.values.size() << " in the other";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The proposal that takes least on the rank where it takes most, of equal ones
/// the first rank's.
static Choice choose(ArrayRef<const Proposal *> ranks) {
  Choice choice;
  for (const Proposal *proposing : ranks) {
    int64_t &bytes = choice.worstBytes.emplace_back(0);
    for (const Proposal *rank : ranks)
      bytes = std::max(bytes, rank->getBytes(proposing->saved));
  }
  choice.rank =
      llvm::min_element(choice.worstBytes) - choice.worstBytes.begin();
  return choice;
}

static void remarkChoice(func::FuncOp function, const Choice &choice,
                         ArrayRef<const Proposal *> ranks) {
  if (!areRemarksEnabled(function))
    return;
  const Proposal &chosen = *ranks[choice.rank];
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "@" << function.getSymName() << " saves what rank " << choice.rank
     << " proposes: " << chosen.saved.size() << " values of at most "
     << choice.worstBytes[choice.rank] << " bytes (of all ranks' proposals: ";
  llvm::interleaveComma(choice.worstBytes, os);
  os << ")";
  remark::passed(function.getLoc(),
                 makeRemark("SavedValuesAgreed", function.getSymName()))
      << text << remark::metric("Rank", choice.rank)
      << remark::metric("WorstBytes", choice.worstBytes[choice.rank])
      << remark::metric("OwnBytes", chosen.getBytes(chosen.saved));
}

static ArrayAttr getSavedNames(MLIRContext *context, const Proposal &chosen) {
  SmallVector<Attribute> names;
  for (int32_t index : chosen.saved)
    names.push_back(StringAttr::get(context, chosen.values[index].name));
  return ArrayAttr::get(context, names);
}

LogicalResult
mlir::commsched::agreeOnSavedValues(ModuleOp module,
                                    ArrayRef<func::FuncOp> functions,
                                    ArrayRef<std::string> paths) {
  FailureOr<Files> files = readFiles(module, paths);
  if (failed(files) || failed(checkFunctions(module, paths, *files, functions)))
    return failure();
  for (func::FuncOp function : functions) {
    if (!findCollective(function)) {
      remark::missed(function.getLoc(),
                     makeRemark("NothingToAgreeOn", function.getSymName()))
          << ("@" + function.getSymName() +
              " has no collectives: ranks may save what they like")
                 .str();
      continue;
    }
    FailureOr<SmallVector<const Proposal *>> ranks =
        findProposals(function, paths, *files);
    if (failed(ranks) || failed(checkSameValues(function, paths, *ranks)))
      return failure();
    Choice choice = choose(*ranks);
    remarkChoice(function, choice, *ranks);
    function->setDiscardableAttr(
        savedValuesAttrName,
        getSavedNames(module.getContext(), *(*ranks)[choice.rank]));
  }
  return success();
}
