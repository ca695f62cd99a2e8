// SPDX-License-Identifier: Apache-2.0
#define FUSE_USE_VERSION 31
#include "support/fuse_tree.hpp"

#include <fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "support/temp_directory.hpp"

// What libfuse keeps for itself when a mount is taken from under it.
extern "C" const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() { return "leak:libfuse3"; }

namespace rdmend::test {

struct FuseTree::State {
  struct Node {
    std::string text, target;
    int error = 0;
    bool hangs = false;
    int asked = 0;
  };
  TempDirectory place;
  std::string trouble;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Node> nodes;  // files and links, by path without the first slash; directories are what leads to them
  std::set<std::string> silent;        // directories whose listing hangs
  int hanging = 0;
  struct fuse* fuse = nullptr;
  std::thread loop;
};

namespace {

using State = FuseTree::State;

State& state() { return *static_cast<State*>(fuse_get_context()->private_data); }

std::string below(const char* path) { return path + 1; }

bool is_directory(const State& s, const std::string& name) {
  if (name.empty()) return true;
  const auto next = s.nodes.lower_bound(name + "/");
  return next != s.nodes.end() && next->first.starts_with(name + "/");
}

int get_attributes(const char* path, struct stat* out, fuse_file_info*) {
  auto& s = state();
  const std::scoped_lock lock(s.mutex);
  *out = {};
  out->st_nlink = 1;
  if (const auto node = s.nodes.find(below(path)); node != s.nodes.end()) {
    out->st_mode = node->second.target.empty() ? S_IFREG | 0444U : S_IFLNK | 0777U;
    out->st_size = 4096;
    return 0;
  }
  out->st_mode = S_IFDIR | 0755U;
  return is_directory(s, below(path)) ? 0 : -ENOENT;
}

int read_link(const char* path, char* out, std::size_t size) {
  auto& s = state();
  const std::scoped_lock lock(s.mutex);
  const auto node = s.nodes.find(below(path));
  if (node == s.nodes.end() || size == 0) return -ENOENT;
  out[node->second.target.copy(out, size - 1)] = '\0';
  return 0;
}

int read_directory(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  auto& s = state();
  std::unique_lock lock(s.mutex);
  if (s.silent.contains(below(path))) {
    ++s.hanging;
    s.changed.notify_all();
    s.changed.wait(lock, [&] { return !s.silent.contains(below(path)); });
    --s.hanging;
  }
  const auto prefix = below(path).empty() ? std::string() : below(path) + "/";
  std::string last;
  for (auto node = s.nodes.lower_bound(prefix); node != s.nodes.end() && node->first.starts_with(prefix); ++node) {
    auto name = node->first.substr(prefix.size());
    name.resize(std::min(name.size(), name.find('/')));
    if (name != last) fill(buffer, name.c_str(), nullptr, 0, static_cast<fuse_fill_dir_flags>(0));
    last = name;
  }
  return 0;
}

int read_file(const char* path, char* out, std::size_t size, off_t offset, fuse_file_info*) {
  auto& s = state();
  std::unique_lock lock(s.mutex);
  const auto name = below(path);
  if (!s.nodes.contains(name)) return -ENODEV;
  ++s.nodes[name].asked;
  if (s.nodes[name].hangs) {
    ++s.hanging;
    s.changed.notify_all();
    s.changed.wait(lock, [&] { return !s.nodes.contains(name) || !s.nodes[name].hangs; });
    --s.hanging;
    if (!s.nodes.contains(name)) return -ENODEV;
  }
  const auto& node = s.nodes[name];
  if (node.error != 0) return -node.error;
  if (static_cast<std::size_t>(offset) >= node.text.size()) return 0;
  return static_cast<int>(node.text.copy(out, size, static_cast<std::size_t>(offset)));
}

void* begin(fuse_conn_info*, fuse_config* config) {
  config->direct_io = 1;  // every read is asked here, as in sysfs
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return fuse_get_context()->private_data;
}

fuse_operations operations() {
  fuse_operations out{};
  out.getattr = get_attributes;
  out.readlink = read_link;
  out.readdir = read_directory;
  out.read = read_file;
  out.init = begin;
  return out;
}

}  // namespace

FuseTree::FuseTree() : state_(std::make_unique<State>()) {
  auto& s = *state_;
  if (access("/dev/fuse", R_OK | W_OK) != 0 || geteuid() != 0) {
    s.trouble = "it takes root and /dev/fuse";
    return;
  }
  static char program[] = "rdmend-test";
  char* arguments[] = {program};
  fuse_args args = FUSE_ARGS_INIT(1, arguments);
  static const auto kOperations = operations();
  s.fuse = fuse_new(&args, &kOperations, sizeof kOperations, &s);
  fuse_opt_free_args(&args);
  if (s.fuse == nullptr || fuse_mount(s.fuse, s.place.path().c_str()) != 0) {
    s.trouble = "a FUSE file system cannot be mounted here";
    return;
  }
  s.loop = std::thread([&s] { fuse_loop_mt(s.fuse, 0); });
}

FuseTree::~FuseTree() {
  auto& s = *state_;
  if (s.loop.joinable()) {
    {
      const std::scoped_lock lock(s.mutex);
      s.nodes.clear();
      s.silent.clear();
    }
    s.changed.notify_all();
    fuse_exit(s.fuse);
    // Its loop looks up when something is asked; who asks when it has ended already waits until the mount is aborted.
    std::thread poke([name = s.place.file("end")] { access(name.c_str(), F_OK); });
    s.loop.join();
    umount2(s.place.path().c_str(), MNT_FORCE);
    umount2(s.place.path().c_str(), MNT_DETACH);
    poke.join();
  }
  if (s.fuse != nullptr) fuse_destroy(s.fuse);
}

const std::string& FuseTree::trouble() const { return state_->trouble; }
const std::string& FuseTree::path() const { return state_->place.path(); }

void FuseTree::file(const std::string& name, const std::string& text) {
  const std::scoped_lock lock(state_->mutex);
  auto& node = state_->nodes[name];
  node.text = text + "\n";
  node.error = 0;
  node.hangs = false;
  state_->changed.notify_all();
}

void FuseTree::link(const std::string& name, const std::string& target) {
  const std::scoped_lock lock(state_->mutex);
  state_->nodes[name].target = target;
}

void FuseTree::fails(const std::string& name, int error) {
  const std::scoped_lock lock(state_->mutex);
  state_->nodes[name].error = error;
}

void FuseTree::hangs(const std::string& name) {
  const std::scoped_lock lock(state_->mutex);
  state_->nodes[name].hangs = true;
}

void FuseTree::list_hangs(const std::string& directory, bool yes) {
  const std::scoped_lock lock(state_->mutex);
  if (yes)
    state_->silent.insert(directory);
  else
    state_->silent.erase(directory);
  state_->changed.notify_all();
}

void FuseTree::remove(const std::string& name) {
  const std::scoped_lock lock(state_->mutex);
  std::erase_if(state_->nodes, [&](const auto& node) { return node.first == name || node.first.starts_with(name + "/"); });
  state_->changed.notify_all();
}

int FuseTree::asked(const std::string& name) const {
  const std::scoped_lock lock(state_->mutex);
  const auto node = state_->nodes.find(name);
  return node == state_->nodes.end() ? 0 : node->second.asked;
}

bool FuseTree::await_hanging() {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, std::chrono::seconds{20}, [this] { return state_->hanging > 0; });
}

int FuseTree::hanging() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->hanging;
}

}  // namespace rdmend::test
