// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace re2 {
class RE2;
}

namespace rdmend::sources {

// Which names are wanted, by regular expressions that match the whole name; `exclude` is the stronger.
class Choice {
 public:
  // One that is no regular expression matches nothing, and is said so; `of` names the names ("device").
  Choice(const std::string& of, const std::vector<std::string>& include, const std::vector<std::string>& exclude);
  ~Choice();
  Choice(Choice&&) noexcept;
  Choice& operator=(Choice&&) noexcept;
  [[nodiscard]] bool wants(const std::string& name) const;
  // Everything is wanted: nobody need ask.
  [[nodiscard]] bool all() const { return all_; }

 private:
  using Patterns = std::vector<std::unique_ptr<re2::RE2>>;
  bool all_ = false;
  Patterns include_, exclude_;
};

}  // namespace rdmend::sources
