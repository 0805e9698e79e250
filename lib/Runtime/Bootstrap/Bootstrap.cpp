//===- Bootstrap.cpp - Rendezvous of ranks in a folder --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bootstrap/Bootstrap.h"

#include "Core/Program.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace commsched::runtime;
using nlohmann::json;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

/// Between two looks at the folder: of a rank that waits, and of one that does
/// not.
static constexpr milliseconds waitTime(1);
static constexpr milliseconds watchTime(20);
/// Looks after which a rank looks for the processes of others, too.
static constexpr int looksPerCheck = 10;
/// How long a rank may take to write how it stands.
static constexpr milliseconds answerTime(500);

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

Status commsched::runtime::readJobPlace(const GetEnvironment &getEnvironment,
                                        JobPlace &place) {
  auto get = [&](const char *name) {
    const char *text = getEnvironment(name);
    return std::string(text ? text : "");
  };
  for (const char *name :
       {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid"})
    if (place.job.empty())
      place.job = get(name);
  place.folder = get("COMMSCHED_RENDEZVOUS");
  if (!place.folder.empty())
    return Status();
  for (auto [all, local] :
       {std::pair("WORLD_SIZE", "LOCAL_WORLD_SIZE"),
        std::pair("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")})
    if (!get(all).empty() && !get(local).empty() && get(all) != get(local))
      return "only " + get(local) + " of " + get(all) +
             " ranks are on this machine: set COMMSCHED_RENDEZVOUS to a folder "
             "that all machines share";
  place.isTemporary = true;
  std::string temporary = get("TMPDIR");
  // The name that mpirun gives a job is a number that another one may have,
  // too; the last variable is random.
  std::string name = "commsched-" + std::to_string(getuid()) + "-" + place.job +
                     "-" + get("MASTER_PORT") +
                     get("OMPI_MCA_orte_precondition_transports");
  std::replace(name.begin(), name.end(), '/', '_');
  place.folder = (temporary.empty() ? "/tmp" : temporary) + "/" + name;
  return Status();
}

/// The last rank of the job before may remove the folder again at any time.
static Status makeFolder(const JobPlace &place) {
  const char *folder = place.folder.c_str();
  if (mkdir(folder, 0700) != 0 && errno != EEXIST)
    return concat("the ranks cannot meet in the folder '", place.folder,
                  "': ", std::strerror(errno),
                  "; set COMMSCHED_RENDEZVOUS to another");
  struct stat status = {};
  bool isUsable = stat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
                  access(folder, W_OK) == 0;
  if (!isUsable && errno == ENOENT)
    return Status();
  // The name of one for temporary files can be guessed.
  if (!isUsable || (place.isTemporary && status.st_uid != geteuid()))
    return "the ranks cannot meet in '" + place.folder +
           "', which is no folder of this user; set COMMSCHED_RENDEZVOUS to "
           "another";
  return Status();
}

static std::string makeKey() {
  std::random_device device;
  return std::to_string(uint64_t(device()) << 32 | device());
}

static bool readFile(const std::string &path, std::string &text) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return false;
  std::ostringstream content;
  content << file.rdbuf();
  text = content.str();
  return true;
}

static bool exists(const std::string &path) {
  return access(path.c_str(), F_OK) == 0;
}

static void remove(const std::string &path) { ::unlink(path.c_str()); }

std::string Bootstrap::getPath(const std::string &name) const {
  return place.folder + "/" + name;
}

std::string Bootstrap::getPath(int32_t rank, const std::string &suffix) const {
  return getPath(keys[rank] + "." + suffix);
}

/// The file appears when it is complete.
bool Bootstrap::write(const std::string &path, const std::string &text) const {
  std::ostringstream temporary;
  temporary << getPath(key) << ".new" << std::this_thread::get_id();
  std::ofstream file(temporary.str(), std::ios::binary);
  file << text;
  file.close();
  return file && rename(temporary.str().c_str(), path.c_str()) == 0;
}

/// The text of a rank's file, and whether its process still has the lock.
Bootstrap::State Bootstrap::look(int32_t rank, std::string &text) const {
  std::string path = getPath("rank" + std::to_string(rank));
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return State::Absent;
  bool isLocked = flock(file, LOCK_SH | LOCK_NB) != 0;
  char buffer[4096];
  ssize_t bytes = ::read(file, buffer, sizeof(buffer));
  close(file);
  text.assign(buffer, std::max<ssize_t>(bytes, 0));
  return isLocked ? State::Here : State::Gone;
}

/// A rank of another job in the place of one is none.
Bootstrap::State Bootstrap::lookForMember(int32_t rank) const {
  std::string text;
  State state = look(rank, text);
  json hello = json::parse(text, nullptr, false);
  bool isMember = hello.is_object() && hello.value("key", "") == keys[rank];
  return isMember ? state : State::Absent;
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

Bootstrap::Bootstrap(const JobPlace &place,
                     std::function<std::string()> getStatus)
    : place(place), getStatus(std::move(getStatus)), key(makeKey()) {}

Bootstrap::~Bootstrap() { leave(/*failed=*/true, Clock::now()); }

Status Bootstrap::join(const JobPlace &place,
                       std::function<std::string()> getStatus,
                       Deadline deadline, std::unique_ptr<Bootstrap> &result) {
  std::unique_ptr<Bootstrap> bootstrap(
      new Bootstrap(place, std::move(getStatus)));
  if (place.numRanks > 1) {
    COMMSCHED_TRY(bootstrap->claim(deadline));
    COMMSCHED_TRY(bootstrap->meet(deadline));
    bootstrap->watcher = std::thread([raw = bootstrap.get()] { raw->watch(); });
  }
  result = std::move(bootstrap);
  return Status();
}

/// Locks this rank's file before others can see it.
Status Bootstrap::claim(Deadline deadline) {
  std::string path = getPath("rank" + std::to_string(place.rank));
  std::string temporary = getPath(key) + ".rank";
  json hello{{"version", backendVersion},
             {"job", place.job},
             {"rank", place.rank},
             {"ranks", place.numRanks},
             {"key", key}};
  std::string text = hello.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string other;
  for (;; std::this_thread::sleep_for(waitTime)) {
    COMMSCHED_TRY(makeFolder(place));
    bool isTaken = look(place.rank, other) == State::Here;
    if (!isTaken) {
      lock = open(temporary.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 &&
          ::write(lock, text.data(), text.size()) ==
              static_cast<ssize_t>(text.size()) &&
          rename(temporary.c_str(), path.c_str()) == 0)
        return Status();
      int error = errno;
      if (lock >= 0)
        close(std::exchange(lock, -1));
      remove(temporary);
      // The last rank of the job before removes the folder.
      if (error != ENOENT || Clock::now() >= deadline)
        return concat("rank ", place.rank, " cannot write '", path,
                      "': ", std::strerror(error));
    } else if (Clock::now() >= deadline) {
      return concat("two processes say that they are rank ", place.rank,
                    ", or another job meets in '", place.folder,
                    "': give each a COMMSCHED_RENDEZVOUS of its own");
    }
  }
}

/// Why a rank does not belong to this job; empty, and its `key`, if it does.
std::string Bootstrap::describeAbsence(int32_t rank, bool &isHere,
                                       std::string &key) const {
  std::string text, name = "rank " + std::to_string(rank);
  isHere = look(rank, text) == State::Here;
  if (!isHere)
    return name + " has not come";
  json hello = json::parse(text, nullptr, false);
  if (!hello.is_object())
    return name + " has another format";
  auto differs = [&](const char *what, const auto &mine) {
    return hello.value(what, mine) != mine;
  };
  std::string self = "rank " + std::to_string(place.rank);
  if (differs("version", backendVersion))
    return concat(name, " has version ", hello["version"].dump(),
                  " of the runtime, but ", self, " has ", backendVersion);
  if (differs("job", place.job))
    return name + " belongs to the job " + hello["job"].dump() + ", but " +
           self + " to " + json(place.job).dump();
  if (differs("ranks", place.numRanks))
    return name + " says that there are " + hello["ranks"].dump() +
           " ranks, but " + self + " says " + std::to_string(place.numRanks);
  key = hello.value("key", "");
  return "";
}

/// Answers a list of keys that has this rank's. Whether all have answered.
bool Bootstrap::agree(const std::string &list) {
  json parsed = json::parse(list, nullptr, false);
  if (!parsed.is_array() ||
      parsed.size() != static_cast<size_t>(place.numRanks) ||
      parsed[place.rank] != key)
    return false;
  keys = parsed.get<std::vector<std::string>>();
  std::string text;
  if (place.rank != 0) {
    write(getPath(place.rank, "answer"), list);
    return readFile(getPath(0, "agreed"), text) && text == list;
  }
  for (int32_t rank = 1; rank < place.numRanks; ++rank)
    if (!readFile(getPath(rank, "answer"), text) || text != list)
      return false;
  return write(getPath(0, "agreed"), list);
}

/// Waits until all ranks know each other's keys.
Status Bootstrap::meet(Deadline deadline) {
  auto begin = Clock::now();
  std::string roster = getPath("roster"), list, missing;
  // What is known of each rank; of one that has come and given up, what was.
  std::vector<std::string> absences(place.numRanks);
  std::vector<bool> hasCome(place.numRanks);
  while (true) {
    std::vector<std::string> found(place.numRanks);
    missing.clear();
    bool isComplete = true;
    for (int32_t rank = 0; rank < place.numRanks; ++rank) {
      bool isHere = false;
      std::string text = describeAbsence(rank, isHere, found[rank]);
      isComplete &= text.empty();
      if (isHere || !hasCome[rank])
        absences[rank] = text;
      hasCome[rank] = hasCome[rank] || isHere;
      if (!absences[rank].empty())
        missing += (missing.empty() ? "" : "; ") + absences[rank];
    }
    // Rank 0 may still see ranks of the job before. They never answer, so the
    // list changes until all that are in it have answered.
    if (place.rank == 0 && isComplete &&
        (json(found).dump() != list || !exists(roster)))
      write(roster, list = json(found).dump());
    else if (place.rank != 0)
      readFile(roster, list);
    if (agree(list))
      return Status();
    if (Clock::now() >= deadline)
      break;
    std::this_thread::sleep_for(waitTime);
  }
  auto ms = std::chrono::round<milliseconds>(Clock::now() - begin).count();
  return concat("timed out after ", ms, " ms in the start of ", place.numRanks,
                " ranks in '", place.folder,
                "': ", missing.empty() ? "a rank has given up" : missing);
}

//===----------------------------------------------------------------------===//
// Failures and questions
//===----------------------------------------------------------------------===//

void Bootstrap::announce(int32_t rank, const std::string &what) {
  json notice{{"rank", rank}, {"text", concat("rank ", rank, " ", what)}};
  std::string path = getPath(0, "failed"), mine = getPath(key) + ".notice";
  if (write(mine, notice.dump(-1, ' ', false, json::error_handler_t::replace)))
    // Fails where there is one already.
    (void)!::link(mine.c_str(), path.c_str());
  remove(mine);
}

void Bootstrap::fail(const std::string &text) {
  if (!keys.empty())
    announce(place.rank, "failed: " + text);
}

Status Bootstrap::getFailure() const {
  if (!hasFailure.load(std::memory_order_acquire))
    return Status();
  std::lock_guard<std::mutex> guard(mutex);
  return failure;
}

void Bootstrap::lookForFailure() {
  std::string text;
  if (hasFailure || !readFile(getPath(0, "failed"), text))
    return;
  json notice = json::parse(text, nullptr, false);
  // One's own failure is known.
  if (!notice.is_object() || notice.value("rank", -1) == place.rank)
    return;
  std::lock_guard<std::mutex> guard(mutex);
  failure = notice.value("text", "");
  hasFailure.store(true, std::memory_order_release);
}

/// Looks for failures, and answers questions, in a thread of its own.
void Bootstrap::watch() {
  for (int looks = 0; !stopped; ++looks) {
    lookForFailure();
    if (exists(getPath(0, "asked")))
      write(getPath(place.rank, "status"), getStatus());
    // Rank 0 looks for all, and all for rank 0.
    int32_t end = place.rank == 0 ? place.numRanks : 1;
    if (looks % looksPerCheck == 0 && !hasFailure)
      for (int32_t rank = 0; rank < end; ++rank)
        if (rank != place.rank && lookForMember(rank) == State::Gone)
          announce(rank, "is gone");
    std::this_thread::sleep_for(watchTime);
  }
}

std::vector<Standing> Bootstrap::ask() {
  std::vector<Standing> standings(place.numRanks);
  standings[place.rank].status = getStatus();
  standings[place.rank].hasMet = true;
  if (place.numRanks == 1)
    return standings;
  // The last questions before the end of the job: the answers go on.
  write(getPath(0, "asked"), "");
  Deadline deadline = Clock::now() + answerTime;
  for (int32_t rank = 0; rank < place.numRanks; ++rank) {
    Standing &standing = standings[rank];
    if (rank == place.rank)
      continue;
    standing.hasMet = exists(getPath(rank, std::to_string(numExchanges)));
    std::string text;
    State state;
    while ((state = lookForMember(rank)) == State::Here &&
           !readFile(getPath(rank, "status"), text) && Clock::now() < deadline)
      std::this_thread::sleep_for(waitTime);
    if (state == State::Absent) {
      standing.absence = "has left";
    } else if (state == State::Gone) {
      standing.absence = "is gone";
      announce(rank, "is gone");
    } else if (!exists(getPath(rank, "status"))) {
      standing.absence = "does not answer";
    } else {
      standing.status = text;
    }
  }
  lookForFailure();
  return standings;
}

//===----------------------------------------------------------------------===//
// Exchanges and the end
//===----------------------------------------------------------------------===//

Status Bootstrap::exchange(const std::string &mine,
                           std::vector<std::string> &all, Deadline deadline) {
  all.assign(place.numRanks, mine);
  if (place.numRanks == 1)
    return Status();
  auto begin = Clock::now();
  std::string number = std::to_string(++numExchanges);
  if (!write(getPath(place.rank, number), mine))
    return "cannot write '" + getPath(place.rank, number) +
           "': " + std::strerror(errno);
  for (int32_t rank = 0; rank < place.numRanks; ++rank)
    while (rank != place.rank && !readFile(getPath(rank, number), all[rank])) {
      COMMSCHED_TRY(getFailure());
      // It may have written its text, or an error, before it left.
      if (lookForMember(rank) == State::Absent &&
          !exists(getPath(rank, number))) {
        announce(rank, "has left");
        lookForFailure();
      }
      if (Clock::now() >= deadline)
        return describeMissing(deadline - begin);
      std::this_thread::sleep_for(waitTime);
    }
  // All have come, so nobody reads what was written before.
  remove(getPath(place.rank, std::to_string(numExchanges - 1)));
  return Status();
}

/// The error of an exchange that has waited so long.
Status Bootstrap::describeMissing(Clock::duration time) {
  RankStates missing;
  std::vector<Standing> standings = ask();
  COMMSCHED_TRY(getFailure());
  for (int32_t rank = 0; rank < place.numRanks; ++rank)
    if (const Standing &standing = standings[rank]; !standing.hasMet)
      missing.emplace_back(rank, standing.absence.empty() ? "has not come"
                                                          : standing.absence);
  auto ms = std::chrono::round<milliseconds>(time).count();
  return concat("timed out after ", std::max<int64_t>(ms, 0),
                " ms in the meeting of all ranks",
                missing.empty() ? "" : ": " + describeRanks(missing));
}

void Bootstrap::leave(bool failed, Deadline deadline) {
  stopped = true;
  if (watcher.joinable())
    watcher.join();
  if (lock < 0)
    return;
  auto isAnyHere = [&] {
    for (int32_t rank = 0; rank < static_cast<int32_t>(keys.size()); ++rank)
      if (rank != place.rank && lookForMember(rank) == State::Here)
        return true;
    return false;
  };
  // Otherwise rank 0 could take one of this job for one of the next.
  while (place.rank == 0 && !failed && isAnyHere() && Clock::now() < deadline)
    std::this_thread::sleep_for(waitTime);
  remove(getPath("rank" + std::to_string(place.rank)));
  close(std::exchange(lock, -1));
  std::error_code code;
  if (isAnyHere())
    return;
  // The last one cleans up.
  for (const fs::directory_entry &entry :
       fs::directory_iterator(place.folder, code)) {
    std::string name = entry.path().filename().string();
    std::string owner = name.substr(0, name.find('.'));
    if (std::find(keys.begin(), keys.end(), owner) != keys.end())
      remove(entry.path().string());
  }
  for (int32_t rank = 0; rank < static_cast<int32_t>(keys.size()); ++rank)
    if (lookForMember(rank) == State::Gone)
      remove(getPath("rank" + std::to_string(rank)));
  std::string roster;
  if (readFile(getPath("roster"), roster) && roster == json(keys).dump())
    remove(getPath("roster"));
  rmdir(place.folder.c_str());
}
