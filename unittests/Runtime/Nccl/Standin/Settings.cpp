//===- Settings.cpp - Settings and counters of stand-ins ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Standin.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

using namespace standin;

namespace {
struct ThreadLog {
  std::vector<std::string> lines;
  int64_t queries = 0;
  std::map<std::string, int> numbers;
};
} // namespace

/// Never destroyed: what ends a rank at the end of its thread may call CUDA
/// after the destructors of this file.
static ThreadLog &getThreadLog() {
  static thread_local ThreadLog *log = new ThreadLog;
  return *log;
}
static std::string logPath;

static Settings readEnvironment() {
  Settings settings;
  const char *text = std::getenv("COMMSCHED_STANDIN");
  std::istringstream stream(text ? text : "");
  for (std::string item; std::getline(stream, item, ';');) {
    size_t equal = item.find('=');
    std::string name = item.substr(0, equal);
    std::string value =
        equal == std::string::npos ? "" : item.substr(equal + 1);
    if (name == "alone")
      settings.alone = true;
    else if (name == "stuck")
      settings.stuck.insert(value);
    else if (name == "log")
      logPath = value;
  }
  return settings;
}

Settings &standin::getSettings() {
  static Settings settings = readEnvironment();
  return settings;
}

void standin::resetSettings() { getSettings() = Settings(); }

std::recursive_mutex &standin::getLock() {
  static std::recursive_mutex lock;
  return lock;
}

void standin::record(const std::string &line) {
  getThreadLog().lines.push_back(line);
  if (!logPath.empty())
    std::ofstream(logPath, std::ios::app) << line << '\n';
}

void standin::beginThread() { getThreadLog() = ThreadLog(); }

int standin::takeNumber(const char *kind) {
  return getThreadLog().numbers[kind]++;
}

std::vector<std::string> standin::takeLog() {
  return std::exchange(getThreadLog().lines, {});
}

namespace standin {
/// Of Device.cpp.
void countQuery() { ++getThreadLog().queries; }
} // namespace standin

int64_t standin::countQueries() { return getThreadLog().queries; }

int standin::getFailure(const char *call) {
  std::lock_guard<std::recursive_mutex> guard(getLock());
  auto found = getSettings().failing.find(call);
  return found == getSettings().failing.end() ? 0 : found->second;
}

bool standin::isStuck(const char *call) {
  std::lock_guard<std::recursive_mutex> guard(getLock());
  return getSettings().stuck.count(call) != 0;
}
