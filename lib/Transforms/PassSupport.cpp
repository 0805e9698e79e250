//===- PassSupport.cpp - Blocks, remarks and files of passes --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassSupport.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/Support/FileSystem.h"
#include <unistd.h>

using namespace mlir;
using namespace mlir::commsched;

SmallVector<Block *>
mlir::commsched::getBlocksWithCollectives(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk([&](Block *block) {
    // The block of an asynchronous collective is its definition.
    if (!isa<CollectiveOpInterface>(block->getParentOp()) &&
        llvm::any_of(*block, llvm::IsaPred<CollectiveOpInterface>))
      blocks.push_back(block);
  });
  return blocks;
}

FailureOr<bool>
mlir::commsched::rewriteBlocks(ArrayRef<Block *> blocks,
                               function_ref<FailureOr<bool>(Block &)> rewrite) {
  bool isChanged = false;
  for (Block *block : blocks) {
    FailureOr<bool> isBlockChanged = rewrite(*block);
    if (failed(isBlockChanged))
      return failure();
    isChanged |= *isBlockChanged;
  }
  return isChanged;
}

bool mlir::commsched::areRemarksEnabled(Operation *op) {
  return op->getContext()->getRemarkEngine() != nullptr;
}

remark::RemarkOpts mlir::commsched::makeRemark(StringRef name,
                                               StringRef function) {
  return remark::RemarkOpts::name(name)
      .category("commsched")
      .function(function);
}

remark::detail::InFlightRemark
mlir::commsched::remarkBlockKept(func::FuncOp function, Location location,
                                 const Twine &reason) {
  remark::detail::InFlightRemark remark =
      remark::missed(location, makeRemark("BlockKept", function.getSymName()));
  remark << ("not reordered: " + reason).str();
  return remark;
}

/// Writes to `descriptor`, or says why that failed.
static std::error_code
writeToDescriptor(int descriptor, bool isClosedAfter,
                  function_ref<void(raw_ostream &)> print) {
  llvm::raw_fd_ostream os(descriptor, isClosedAfter);
  print(os);
  os.flush();
  std::error_code error = os.error();
  // Otherwise its destructor ends the program.
  os.clear_error();
  return error;
}

/// Whether the path leads to something that cannot be replaced by a file: a
/// device or a pipe.
static bool isWrittenInPlace(const llvm::sys::fs::file_status &status) {
  switch (status.type()) {
  case llvm::sys::fs::file_type::block_file:
  case llvm::sys::fs::file_type::character_file:
  case llvm::sys::fs::file_type::fifo_file:
  case llvm::sys::fs::file_type::socket_file:
    return true;
  default:
    return false;
  }
}

/// Writes a new file beside `path` and then gives it that name, so that there
/// is no partial file at any time.
static std::error_code replaceFile(StringRef path,
                                   function_ref<void(raw_ostream &)> print) {
  llvm::Expected<llvm::sys::fs::TempFile> file =
      llvm::sys::fs::TempFile::create(path + ".%%%%%%%%.tmp",
                                      llvm::sys::fs::all_read |
                                          llvm::sys::fs::all_write);
  if (!file)
    return llvm::errorToErrorCode(file.takeError());
  std::error_code error =
      writeToDescriptor(file->FD, /*isClosedAfter=*/false, print);
  llvm::Error done = error ? file->discard() : file->keep(path);
  std::error_code doneError = llvm::errorToErrorCode(std::move(done));
  return error ? error : doneError;
}

static std::error_code writeFile(StringRef path,
                                 function_ref<void(raw_ostream &)> print) {
  if (path == "-")
    return writeToDescriptor(STDOUT_FILENO, /*isClosedAfter=*/false, print);
  llvm::sys::fs::file_status status;
  // A new file has no status.
  (void)llvm::sys::fs::status(path, status);
  if (status.type() == llvm::sys::fs::file_type::directory_file)
    return make_error_code(std::errc::is_a_directory);
  if (isWrittenInPlace(status)) {
    int descriptor = -1;
    if (std::error_code error = llvm::sys::fs::openFileForWrite(
            path, descriptor, llvm::sys::fs::CD_OpenExisting))
      return error;
    return writeToDescriptor(descriptor, /*isClosedAfter=*/true, print);
  }
  // Of a link, what it leads to is replaced.
  SmallString<128> target;
  if (!exists(status) || llvm::sys::fs::real_path(path, target))
    target = path;
  return replaceFile(target, print);
}

LogicalResult
mlir::commsched::writeOutputFile(Location loc, StringRef path, StringRef what,
                                 function_ref<void(raw_ostream &)> print) {
  if (std::error_code error = writeFile(path, print))
    return emitError(loc, "cannot write ")
           << what << " to '" << path << "': " << error.message();
  return success();
}

void mlir::commsched::remarkBarriers(func::FuncOp function, Block &block) {
  for (Operation &op : block.without_terminator()) {
    // Other operations with unknown effects belong to linked dialects, whose
    // authors say what they do.
    if (op.isRegistered() && !isa<KnownEffectsOpInterface>(op))
      continue;
    if (hasUnknownMemoryEffects(&op))
      remark::analysis(op.getLoc(),
                       makeRemark("Barrier", function.getSymName()))
          << (describe(&op) + " is a barrier: its effects are not known");
  }
}
