// SPDX-License-Identifier: Apache-2.0
#include "remedies/advise.hpp"

#include <fmt/format.h>

#include "advice/topics.hpp"
#include "base/text.hpp"
#include "remedies/params.hpp"

namespace rdmend::remedies {
namespace {

class AdviseAction : public Action {
 public:
  AdviseAction(const advice::TopicRow& topic, const Alert& alert, Environment& environment)
      : topic_(topic),
        device_(alert.labels.get("device")),
        port_(alert.labels.get("port")),
        environment_(environment) {}

  void check(std::function<void(std::string)> done) override {
    done(device_.empty() || port_.empty()
             ? fmt::format("the alert has no label '{}', so there is no port to advise on",
                           device_.empty() ? "device" : "port")
             : "");
  }
  [[nodiscard]] std::vector<Target> targets() const override {
    const auto port = device_ + "/" + port_;
    return {{"advise " + port, "", port, fmt::format("advise about {}", topic_.name)}};
  }
  void run(std::vector<Target> granted, std::function<void(std::vector<Report>)> done) override {
    std::vector<Report> reports;
    const auto now = environment_.reactor.now().wall;
    for (const auto& target : granted) {
      auto advice = topic_.give({environment_.store, device_, port_, environment_.qps.latest(device_), now});
      reports.push_back({Verdict::succeeded, target.text, std::move(advice.text), std::move(advice.figures)});
    }
    done(std::move(reports));
  }
  void verify(std::function<void(Report)> done) override {
    done({Verdict::succeeded, device_ + "/" + port_, "an advice is not verified", {}});
  }
  void undo(std::function<void(Report)> done) override {
    done({Verdict::undone, device_ + "/" + port_, "an advice changed nothing", {}});
  }
  [[nodiscard]] bool acts() const override { return false; }
  [[nodiscard]] bool verifiable() const override { return false; }

 private:
  const advice::TopicRow& topic_;
  std::string device_, port_;
  Environment& environment_;
};

class Advise : public Remedy {
 public:
  explicit Advise(const advice::TopicRow& topic) : topic_(topic) {}
  [[nodiscard]] std::string_view kind() const override { return "advise"; }
  [[nodiscard]] std::string describe() const override { return fmt::format("advise about {}", topic_.name); }
  [[nodiscard]] std::unique_ptr<Action> begin(const Alert& alert, Environment& environment) const override {
    return std::make_unique<AdviseAction>(topic_, alert, environment);
  }
  [[nodiscard]] std::unique_ptr<Action> resume(const std::string&, Environment&) const override {
    return nullptr;
  }

 private:
  const advice::TopicRow& topic_;
};

}  // namespace

std::unique_ptr<Remedy> compile_advise(const RemedySpec& spec, Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  for (const auto& row : advice::topics()) names.push_back(row.name);
  const auto legal = fmt::format("legal are: {}", fmt::join(names, ", "));
  const auto* param = find_param(spec, "about");
  if (param == nullptr) {
    diagnostics.error(spec.file, spec.at, "advise needs the parameter 'about'", legal);
    return nullptr;
  }
  const auto* about = scalar(spec, param, diagnostics);
  if (about == nullptr) return nullptr;
  const auto* topic = advice::find_topic(*about);
  if (topic == nullptr) {
    value_error(spec, *param, fmt::format("unknown topic '{}' of advise", printable(*about)),
                did_you_mean(*about, names), diagnostics);
    return nullptr;
  }
  return std::make_unique<Advise>(*topic);
}

}  // namespace rdmend::remedies
