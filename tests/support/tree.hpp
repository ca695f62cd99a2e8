// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "support/temp_directory.hpp"

namespace rdmend::test {

// A tree of small files built inline, as sysfs would show it: tree.files("class/infiniband/mlx5_0/ports/1", {{"state", "4: ACTIVE"}}).
class Tree {
 public:
  [[nodiscard]] const std::string& path() const { return root_.path(); }
  [[nodiscard]] std::string at(const std::string& name) const { return root_.file(name); }

  void file(const std::string& name, const std::string& text) const {
    make_parent(name);
    root_.write(name, text + "\n");
  }
  void files(const std::string& directory, std::initializer_list<std::pair<const char*, const char*>> entries) const {
    std::filesystem::create_directories(at(directory));
    for (const auto& [name, text] : entries) file(directory + "/" + name, text);
  }
  void link(const std::string& name, const std::string& target) const {
    make_parent(name);
    std::filesystem::create_symlink(target, at(name));
  }
  // Whoever opens it for reading hangs until release() or the end.
  void hanging(const std::string& name) const {
    make_parent(name);
    mkfifo(at(name).c_str(), 0600);
  }
  void release(const std::string& name) const {
    const int fd = ::open(at(name).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) ::close(fd);
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(at(name)); }

 private:
  void make_parent(const std::string& name) const { std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path()); }
  TempDirectory root_;
};

}  // namespace rdmend::test
