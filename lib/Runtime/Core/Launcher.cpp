//===- Launcher.cpp - Launchers and backends ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Launcher.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

using namespace commsched::runtime;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Launchers
//===----------------------------------------------------------------------===//

namespace {
struct LauncherVariables {
  const char *name;
  const char *backend;
  const char *rank;
  const char *numRanks;
  const char *localRank;
};
} // namespace

/// By priority. A process that one launcher starts under another has the
/// variables of both, and the innermost launcher, which has started the process
/// itself, gives the rank. The variables do not say which one that is. The
/// usual nesting is torchrun under mpirun (or srun with PMI), where MPI starts
/// one agent of torchrun for each machine and the agents start the ranks: MPI's
/// variables then count the agents. Scripts that start PyTorch by mpirun alone
/// set RANK and WORLD_SIZE to MPI's numbers. So torchrun's variables are first.
/// A worker of torchrun that calls mpirun is a rank itself; programs started
/// that way use the backend "mpi", see `findLauncher`.
static const LauncherVariables launchers[] = {
    {"torchrun", "nccl", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"mpirun", "mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpirun", "mpi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"}};

/// -1 when the variable is not set.
static Status readVariable(const char *name, int32_t &value) {
  value = -1;
  const char *text = std::getenv(name);
  if (!text)
    return Status();
  char *end = nullptr;
  long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 0 || number > INT32_MAX)
    return std::string(name) + "='" + text + "' is no rank or number of ranks";
  value = static_cast<int32_t>(number);
  return Status();
}

Status commsched::runtime::checkRank(int32_t rank, int32_t numRanks) {
  if (numRanks >= 1 && rank >= 0 && rank < numRanks)
    return Status();
  return concat("rank ", rank, " of ", numRanks, " ranks does not exist");
}

/// Reads the variables of one launcher; none if they are not set.
static Status readLauncher(const LauncherVariables &variables,
                           std::optional<commsched_launcher> &result) {
  int32_t rank, numRanks, localRank;
  COMMSCHED_TRY(readVariable(variables.rank, rank));
  COMMSCHED_TRY(readVariable(variables.numRanks, numRanks));
  COMMSCHED_TRY(readVariable(variables.localRank, localRank));
  if (rank == -1 && numRanks == -1)
    return Status();
  if (rank == -1 || numRanks == -1)
    return std::string(rank == -1 ? variables.rank : variables.numRanks) +
           " is not set, but " +
           (rank == -1 ? variables.numRanks : variables.rank) + " is";
  result = commsched_launcher{variables.name, variables.backend, rank, numRanks,
                              localRank};
  return Status();
}

Status
commsched::runtime::findLauncher(const std::string &backend,
                                 std::optional<commsched_launcher> &result) {
  result.reset();
  Status first;
  // MPI assigns the ranks of its backend whatever other launchers set, so its
  // own launchers come first there.
  for (bool isPreferred : {true, false})
    for (const LauncherVariables &variables : launchers) {
      bool isOfMpi = std::strcmp(variables.backend, "mpi") == 0;
      if ((backend != "mpi" || isOfMpi) != isPreferred)
        continue;
      Status status = readLauncher(variables, result);
      if (result)
        return Status();
      if (first)
        first = status;
    }
  return first;
}

Status commsched::runtime::findLaunchedRank(const commsched_options &options,
                                            commsched_launcher &result) {
  std::optional<commsched_launcher> launcher;
  COMMSCHED_TRY(findLauncher(options.backend ? options.backend : "", launcher));
  result = launcher.value_or(commsched_launcher{nullptr, nullptr, 0, 1, -1});
  if ((options.rank == -1) != (options.num_ranks == -1))
    return "a rank and a number of ranks are given together or not at all";
  if (options.rank != -1) {
    if (options.rank != result.rank || options.num_ranks != result.num_ranks)
      result.local_rank = -1;
    result.rank = options.rank;
    result.num_ranks = options.num_ranks;
  }
  return checkRank(result.rank, result.num_ranks);
}

//===----------------------------------------------------------------------===//
// Backends
//===----------------------------------------------------------------------===//

static const std::string prefix = "libCommSchedRuntime";
static const std::string suffix = ".so";

/// Returns the folders that are searched for backends, in this order.
static std::vector<std::string> getFolders() {
  std::vector<std::string> folders;
  if (const char *path = std::getenv("COMMSCHED_BACKEND_PATH")) {
    std::istringstream stream(path);
    for (std::string folder; std::getline(stream, folder, ':');)
      if (!folder.empty())
        folders.push_back(folder);
  }
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&commsched_init), &info) &&
      info.dli_fname) {
    fs::path folder = fs::path(info.dli_fname).parent_path();
    folders.push_back(folder.empty() ? "." : folder.string());
  }
  return folders;
}

static std::string changeFirst(std::string name, int (*change)(int)) {
  name[0] = static_cast<char>(change(static_cast<unsigned char>(name[0])));
  return name;
}

std::vector<std::string> commsched::runtime::listBackends() {
  static const std::regex pattern(prefix + "(.+)\\" + suffix);
  std::set<std::string> names;
  for (const std::string &folder : getFolders()) {
    std::error_code code;
    for (const auto &entry : fs::directory_iterator(folder, code)) {
      std::string file = entry.path().filename().string();
      if (std::smatch match; std::regex_match(file, match, pattern))
        names.insert(changeFirst(match[1], std::tolower));
    }
  }
  std::vector<std::string> list = {"local"};
  list.insert(list.end(), names.begin(), names.end());
  return list;
}

/// The path of the backend's file; empty and an error if there is none.
static std::string findBackend(const std::string &name, Status &status) {
  if (name.find('/') != std::string::npos)
    return name;
  std::string looked;
  bool isName = !name.empty();
  for (char c : name)
    isName &= std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  if (isName) {
    for (const std::string &folder : getFolders()) {
      std::string file = prefix + changeFirst(name, std::toupper) + suffix;
      std::string path = (fs::path(folder) / file).string();
      std::error_code code;
      if (fs::exists(path, code))
        return path;
      looked += (looked.empty() ? "" : ", ") + ("'" + path + "'");
    }
  }
  std::string text = "there is no backend '" + name + "'";
  if (!looked.empty())
    text += ": looked for " + looked;
  text += "; there is";
  const char *separator = " ";
  for (const std::string &other : listBackends()) {
    text += separator + ("'" + other + "'");
    separator = ", ";
  }
  status = text;
  return "";
}

std::unique_ptr<Backend>
commsched::runtime::createBackend(const std::string &name,
                                  const BackendConfig &config, Status &status) {
  if (name == "local")
    return createLocalBackend(config, status);
  std::string path = findBackend(name, status);
  if (path.empty())
    return nullptr;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    status = "cannot load the backend '" + name + "': " + dlerror();
    return nullptr;
  }
  auto *create = reinterpret_cast<decltype(&commsched_create_backend)>(
      dlsym(library, "commsched_create_backend"));
  if (!create) {
    status = "'" + path + "' is no backend: it has no commsched_create_backend";
    return nullptr;
  }
  std::string text;
  std::unique_ptr<Backend> backend(create(&config, &text));
  if (!backend)
    status = "the backend '" + name + "' cannot start: " + text;
  return backend;
}
