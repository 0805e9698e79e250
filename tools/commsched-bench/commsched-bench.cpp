//===- commsched-bench.cpp - Benchmark of collectives ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times the runtime's collectives on a backend, checks their results, prints a
// table, and writes the cost table that `commsched-estimate-runtime` reads.
//
//===----------------------------------------------------------------------===//

#include "BenchRank.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <thread>

using namespace commsched::bench;
namespace cl = llvm::cl;

static cl::OptionCategory category("commsched-bench options");

static cl::opt<std::string>
    backend("backend",
            cl::desc("local (threads of this process), mpi, nccl, "
                     "or a backend's path"),
            cl::init("local"), cl::cat(category));
static cl::opt<int32_t>
    ranks("ranks", cl::desc("Ranks of 'local'; others ask their launcher"),
          cl::init(2), cl::cat(category));
static cl::list<std::string>
    collectives("collectives", cl::CommaSeparated,
                cl::desc("all_gather, reduce_scatter, all_reduce, all_to_all, "
                         "broadcast, permute, send_recv; default: all"),
                cl::cat(category));
static cl::list<std::string>
    groups("groups", cl::CommaSeparated,
           cl::desc("world, rows:SIZE (consecutive ranks), columns:SIZE; all "
                    "groups of a kind work at the same time; default: world"),
           cl::cat(category));
static cl::opt<std::string>
    implementation("implementation",
                   cl::desc("Name of an implementation, for all groups"),
                   cl::cat(category));
static cl::opt<std::string>
    method("method",
           cl::desc("Its method: nccl, copy-engine or symmetric; default: its "
                    "name"),
           cl::cat(category));
static cl::opt<int32_t> channels("channels",
                                 cl::desc("The most channels of NCCL that it "
                                          "takes; default: as NCCL decides"),
                                 cl::init(0), cl::cat(category));
static cl::list<std::string> types("types", cl::CommaSeparated,
                                   cl::desc("Element types; default: f32"),
                                   cl::cat(category));
static cl::list<std::string>
    reductions("reductions", cl::CommaSeparated,
               cl::desc("sum, avg, prod, min, max, band, bor, bxor; default: "
                        "sum"),
               cl::cat(category));
static cl::opt<std::string>
    minBytes("min-bytes", cl::desc("Smallest full buffer (default 1K)"),
             cl::init("1K"), cl::cat(category));
static cl::opt<std::string>
    maxBytes("max-bytes", cl::desc("Largest full buffer (default 4M)"),
             cl::init("4M"), cl::cat(category));
static cl::opt<int64_t> factor("factor", cl::desc("From size to size"),
                               cl::init(4), cl::cat(category));
static cl::opt<int32_t>
    warmup("warmup", cl::desc("Untimed calls before each measurement"),
           cl::init(5), cl::cat(category));
static cl::opt<int32_t>
    repeats("repeats", cl::desc("Isolated calls, and batches, of each size"),
            cl::init(20), cl::cat(category));
static cl::opt<int32_t> launches("launches",
                                 cl::desc("Calls of a batch, back to back"),
                                 cl::init(10), cl::cat(category));
static cl::opt<bool>
    compareDirect("compare-direct",
                  cl::desc("Time MPI or NCCL called directly as well"),
                  cl::cat(category));
static cl::opt<std::string> output("output",
                                   cl::desc("File for the cost table (JSON)"),
                                   cl::value_desc("file"), cl::cat(category));

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

template <typename T>
static llvm::Error assign(llvm::Expected<T> value, T &result) {
  if (!value)
    return value.takeError();
  result = std::move(*value);
  return llvm::Error::success();
}

static std::vector<std::string> orDefault(const cl::list<std::string> &names,
                                          std::vector<std::string> fallback) {
  if (names.getNumOccurrences() == 0)
    return fallback;
  return {names.begin(), names.end()};
}

static llvm::Error checkCount(llvm::StringRef option, int32_t value,
                              int32_t least, int32_t most) {
  if (value >= least && value <= most)
    return llvm::Error::success();
  return llvm::createStringError(
      "--" + option + " must be from " + llvm::Twine(least) + " to " +
      llvm::Twine(most) + ", not " + llvm::Twine(value));
}

static llvm::Error readBackend(Settings &settings) {
  settings.backend = backend;
  if (settings.backend.empty())
    return llvm::createStringError("--backend needs a name");
  if (settings.backend != "local") {
    if (ranks.getNumOccurrences() == 0)
      return llvm::Error::success();
    return llvm::createStringError(
        "--ranks is for 'local' only: the launcher of '" + settings.backend +
        "' decides, as in mpirun -n 4");
  }
  settings.numRanks = ranks;
  // More threads than that are taken for a mistake.
  return checkCount("ranks", ranks, 1, 1024);
}

static llvm::Error readLists(Settings &settings) {
  std::vector<std::string> allOperations;
  for (Operation operation : getOperations())
    allOperations.push_back(stringifyOperation(operation).str());
  if (llvm::Error error =
          assign(parseOperations(orDefault(collectives, allOperations)),
                 settings.operations))
    return error;
  if (llvm::Error error =
          assign(parseGroups(orDefault(groups, {"world"})), settings.groups))
    return error;
  if (llvm::Error error =
          assign(parseElements(orDefault(types, {"f32"})), settings.elements))
    return error;
  return assign(parseReductions(orDefault(reductions, {"sum"})),
                settings.reductions);
}

static llvm::Error readImplementation(Settings &settings) {
  if (implementation.getNumOccurrences() > 0)
    return assign<std::optional<GroupImplementation>>(
        parseImplementation(implementation, method, channels),
        settings.implementation);
  for (const cl::Option *option :
       std::initializer_list<const cl::Option *>{&method, &channels})
    if (option->getNumOccurrences() > 0)
      return llvm::createStringError("--" + option->ArgStr +
                                     " needs --implementation");
  return llvm::Error::success();
}

static llvm::Error readSizes(Settings &settings) {
  int64_t minimum = 0, maximum = 0;
  if (llvm::Error error = assign(parseBytes(minBytes, "--min-bytes"), minimum))
    return error;
  if (llvm::Error error = assign(parseBytes(maxBytes, "--max-bytes"), maximum))
    return error;
  return assign(makeSizes(minimum, maximum, factor), settings.sizes);
}

static llvm::Error readCounts(Settings &settings) {
  constexpr int32_t most = 1000000;
  settings.warmup = warmup;
  settings.repeats = repeats;
  settings.launches = launches;
  if (llvm::Error error = checkCount("warmup", warmup, 0, most))
    return error;
  if (llvm::Error error = checkCount("repeats", repeats, 1, most))
    return error;
  return checkCount("launches", launches, 1, most);
}

static llvm::Error readSettings(llvm::ArrayRef<const char *> arguments,
                                Settings &settings) {
  for (auto read :
       {readBackend, readLists, readImplementation, readSizes, readCounts})
    if (llvm::Error error = read(settings))
      return error;
  settings.compareDirect = compareDirect;
  settings.output = output;
  settings.command = "commsched-bench";
  for (const char *argument : arguments.drop_front())
    settings.command += std::string(" ") + argument;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Returns the errors of the ranks of this process, each text once.
static std::vector<std::string> runRanks(const Settings &settings) {
  std::vector<std::string> errors(1);
  if (settings.backend != "local") {
    errors[0] = runRank(settings, -1);
  } else {
    errors.resize(settings.numRanks);
    std::vector<std::thread> threads;
    for (int32_t rank = 0; rank < settings.numRanks; ++rank)
      threads.emplace_back(
          [&, rank] { errors[rank] = runRank(settings, rank); });
    for (std::thread &thread : threads)
      thread.join();
  }
  std::vector<std::string> distinct;
  for (std::string &error : errors)
    if (!error.empty() && !llvm::is_contained(distinct, error))
      distinct.push_back(std::move(error));
  return distinct;
}

static void printError(const llvm::Twine &text) {
  llvm::errs() << "commsched-bench: error: " << text << "\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "times collectives, and writes the times as a cost table\n\n"
      "  commsched-bench --ranks=4 --output=table.json\n"
      "  mpirun -n 4 commsched-bench --backend=mpi --compare-direct\n");
  Settings settings;
  if (llvm::Error error = readSettings(llvm::ArrayRef(argv, argc), settings)) {
    printError(llvm::toString(std::move(error)));
    return 1;
  }
  std::vector<std::string> errors = runRanks(settings);
  for (const std::string &error : errors)
    printError(error);
  return errors.empty() ? 0 : 1;
}
