//===- BackendLoader.cpp - Loading of backends ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/BackendLoader.h"

#include <cctype>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

using namespace commsched::runtime;
namespace fs = std::filesystem;

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
