// SPDX-License-Identifier: Apache-2.0
#include "differential/prometheus.hpp"

#include <curl/curl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/c_handle.hpp"
#include "differential/process.hpp"

namespace rdmend::differential {
namespace {

using Json = nlohmann::json;
using Curl = CHandle<CURL, curl_easy_cleanup>;

std::string seconds_text(Timestamp at) {
  const auto count = at.time_since_epoch().count();
  return fmt::format("{}.{:03}", count / 1000, count % 1000);
}

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

// strtod in the C locale: what the API prints reads back equal.
double read_value(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// One series after the other, each oldest first; of unknown type, since the tests' names follow no rule.
void write_openmetrics(std::ostream& out, const std::vector<Series>& series) {
  for (const Series& one : series) {
    const std::string labels = one.labels.text();
    for (const store::Point& point : one.points) out << labels << ' ' << value_text(point.value) << ' ' << seconds_text(point.at) << '\n';
  }
  out << "# EOF\n";
}

store::Point read_point(const Json& pair) {
  const double at = pair.at(0).get<double>();
  return {Timestamp{milliseconds{std::llround(at * 1000)}}, read_value(pair.at(1).get<std::string>())};
}

Series read_series(const Json& one) {
  Series series;
  for (const auto& [name, value] : one.at("metric").items()) series.labels.set(name, value.get<std::string>());
  if (one.contains("value")) series.points.push_back(read_point(one.at("value")));
  if (one.contains("values"))
    for (const Json& pair : one.at("values")) series.points.push_back(read_point(pair));
  return series;
}

// The API's answer, https://prometheus.io/docs/prometheus/latest/querying/api/. Throws what nlohmann::json throws.
Answer read_answer(const Json& body) {
  Answer answer;
  if (body.at("status") == "error") {
    answer.kind = body.at("errorType") == "bad_data" ? Answer::Kind::parse_error : Answer::Kind::execution_error;
    answer.text = body.at("error").get<std::string>();
    return answer;
  }
  const Json& data = body.at("data");
  const std::string type = data.at("resultType").get<std::string>();
  const Json& result = data.at("result");
  if (type == "scalar") {
    answer.kind = Answer::Kind::scalar;
    answer.scalar = read_point(result).value;
  } else if (type == "string") {
    answer.kind = Answer::Kind::string;
    answer.text = result.at(1).get<std::string>();
  } else {
    answer.kind = type == "vector" ? Answer::Kind::vector : Answer::Kind::matrix;
    for (const Json& one : result) answer.series.push_back(read_series(one));
  }
  return answer;
}

std::size_t collect(char* data, std::size_t size, std::size_t count, void* into) {
  static_cast<std::string*>(into)->append(data, size * count);
  return size * count;
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  std::string path = (std::filesystem::temp_directory_path() / "rdmend-differential-XXXXXX").string();
  if (::mkdtemp(path.data()) != nullptr) path_ = path;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

// One connection, kept.
struct Prometheus::Http {
  Curl easy{curl_easy_init()};

  Result<std::string> request(const std::string& url, const std::string& form) {
    std::string body;
    curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &collect);
    curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(easy.get(), CURLOPT_NOPROXY, "*");
    if (form.empty()) {
      curl_easy_setopt(easy.get(), CURLOPT_HTTPGET, 1L);
    } else {
      curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(form.size()));
      curl_easy_setopt(easy.get(), CURLOPT_COPYPOSTFIELDS, form.c_str());
    }
    if (const CURLcode code = curl_easy_perform(easy.get()); code != CURLE_OK) return Error{url + ": " + curl_easy_strerror(code)};
    return body;
  }

  std::string escaped(const std::string& text) {
    const CHandle<char, curl_free> escaped{curl_easy_escape(easy.get(), text.data(), static_cast<int>(text.size()))};
    return escaped.get();
  }
};

Prometheus::Prometheus() : http_(std::make_unique<Http>()) {}

Prometheus::~Prometheus() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  wait_for(pid_);
}

Result<std::unique_ptr<Prometheus>> Prometheus::start(const std::vector<Series>& series) {
  std::unique_ptr<Prometheus> made{new Prometheus};
  if (made->directory_.path().empty()) return errno_error("mkdtemp", errno);
  if (auto written = made->write_blocks(series); !written) return written.error();
  // Somebody else may take the port in between: another one is tried.
  for (int tries = 0; tries < 3; ++tries) {
    if (auto launched = made->launch(); !launched) return launched.error();
    if (made->wait_ready()) return made;
    ::kill(made->pid_, SIGKILL);
    wait_for(std::exchange(made->pid_, -1));
  }
  return Error{"prometheus does not become ready: " + file_text(made->directory_.path() / "prometheus.log")};
}

Result<void> Prometheus::write_blocks(const std::vector<Series>& series) {
  const auto text = (directory_.path() / "series.om").string();
  {
    std::ofstream out{text};
    write_openmetrics(out, series);
    if (!out.flush()) return Error{text + ": cannot be written"};
  }
  const auto log = (directory_.path() / "promtool.log").string();
  const auto pid = spawn({"promtool", "tsdb", "create-blocks-from", "openmetrics", text, (directory_.path() / "data").string()}, log);
  if (!pid) return pid.error();
  if (const int status = wait_for(*pid); status != 0) return Error{fmt::format("promtool ends with {}: {}", status, file_text(log))};
  return {};
}

Result<void> Prometheus::launch() {
  const auto config = directory_.path() / "prometheus.yml";
  std::ofstream{config} << fmt::format("global: {{evaluation_interval: {}s}}\n", kSubqueryStep.count());
  address_ = fmt::format("127.0.0.1:{}", free_port());
  const auto pid = spawn({"prometheus", "--config.file=" + config.string(), "--storage.tsdb.path=" + (directory_.path() / "data").string(),
                          "--storage.tsdb.retention.time=100y", "--web.listen-address=" + address_, "--query.max-concurrency=2"},
                         (directory_.path() / "prometheus.log").string());
  if (!pid) return pid.error();
  pid_ = *pid;
  return {};
}

Result<void> Prometheus::wait_ready() {
  for (int tries = 0; tries < 600 && alive(pid_); ++tries) {
    const auto answer = http_->request("http://" + address_ + "/-/ready", "");
    if (answer && answer->find("Ready") != std::string::npos) return {};
    ::usleep(50'000);
  }
  return Error{"not ready"};
}

Result<Answer> Prometheus::ask(const Case& query) {
  std::string form = "query=" + http_->escaped(query.expression);
  if (query.range)
    form += fmt::format("&start={}&end={}&step={}ms", seconds_text(query.start), seconds_text(query.end), query.step.count());
  else
    form += "&time=" + seconds_text(query.start);
  const auto body = http_->request("http://" + address_ + (query.range ? "/api/v1/query_range" : "/api/v1/query"), form);
  if (!body) return body.error();
  try {
    return read_answer(Json::parse(*body));
  } catch (const Json::exception& fault) {
    return Error{fmt::format("an answer that cannot be read ({}): {}", fault.what(), body->substr(0, 500))};
  }
}

}  // namespace rdmend::differential
