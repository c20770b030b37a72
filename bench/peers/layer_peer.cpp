// Our layer from C++, for the comparison with its peers: one problem in, one JSON object out.
//   layer_peer PROBLEM.bin THREADS SECONDS
// The file (bench/peers/sharpen_peers/problem.py) holds int64 n, B, k, the number S of signals and
// that of groups (0: no limits); then, as doubles, sigma, the largest weight and that of a group;
// mu (S, B, n), Sigma (B, n, n), dL/dw (B, n), and the reference's w and dL/dmu (S, B, n). Calls
// take one signal after the other. Times are wall clock, in seconds; warm ones are medians over at
// least five calls and for about SECONDS. There are none if the first answers are wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/sparse_tangent.hpp"

namespace {

using namespace sharpen;

constexpr double kBeta = 5.0;
// Of weights and gradients, as in sharpen_peers/layers.py.
constexpr double kTolerance[] = {1e-8, 1e-6};

struct Problem {
  Index n = 0, B = 0, k = 0, signals = 0, groups = 0;
  std::vector<double> limits, mu, Sigma, dL_dw, w, dL_dmu;

  explicit Problem(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::int64_t sizes[5] = {};
    file.read(reinterpret_cast<char*>(sizes), sizeof sizes);
    n = sizes[0];
    B = sizes[1];
    k = sizes[2];
    signals = sizes[3];
    groups = sizes[4];
    if (!file || n < 1 || B < 1 || n > 10000 || B > 10000 || signals < 1 || signals > 100)
      throw std::runtime_error(path + ": not a problem of the comparison");
    const auto read = [&](std::vector<double>& to, Index count) {
      to.resize(static_cast<std::size_t>(count));
      file.read(reinterpret_cast<char*>(to.data()),
                static_cast<std::streamsize>(to.size() * sizeof(double)));
    };
    read(limits, 3);
    read(mu, signals * B * n);
    read(Sigma, B * n * n);
    read(dL_dw, B * n);
    read(w, signals * B * n);
    read(dL_dmu, signals * B * n);
    if (!file) throw std::runtime_error(path + ": too short");
  }

  // (B, n) of one signal.
  ConstMat of(const std::vector<double>& all, Index signal) const {
    return {all.data() + signal * B * n, B, n};
  }
};

// Long only, no weight above the largest, groups that take turns, and the capital.
layer::Limits limits_of(const Problem& problem) {
  const auto n = static_cast<std::size_t>(problem.n);
  layer::Limits limits;
  limits.lower.assign(n, 0.0);
  limits.upper.assign(n, problem.limits[1]);
  for (Index group = 0; group < problem.groups; ++group) {
    layer::LimitRow row{.name = fmt::format("group {}", group), .coefficients = {}};
    for (Index i = 0; i < problem.n; ++i)
      row.coefficients.push_back(i % problem.groups == group ? 1.0 : 0.0);
    row.upper = problem.limits[2];
    limits.rows.push_back(std::move(row));
  }
  limits.rows.push_back(
      {.name = "capital", .coefficients = std::vector<double>(n, 1.0), .upper = 1.0});
  return limits;
}

// Everything that does not depend on mu.
struct Layer {
  std::unique_ptr<risk::Risk> risk;
  std::unique_ptr<layer::SparseTangent> layer;
  std::unique_ptr<layer::LayerCache> cache;
  std::vector<Index> samples;
  std::vector<Outcome> outcomes;

  Layer(const Problem& problem, const Threads& threads)
      : outcomes(static_cast<std::size_t>(problem.B)) {
    std::vector<ConstMat> Sigmas;
    for (Index i = 0; i < problem.B; ++i) {
      Sigmas.push_back({problem.Sigma.data() + i * problem.n * problem.n, problem.n, problem.n});
      samples.push_back(i);
    }
    risk::RiskSettings settings;
    settings.shrinkage = 0.0;
    settings.parts = {.lower = true, .root = false, .restriction = false};
    risk = risk::from_covariances(Sigmas, settings, threads);
    layer::LayerSettings mode;
    mode.k = problem.k;
    mode.beta = kBeta;
    mode.score = layer::Score::cholesky;
    mode.reoptimization = layer::Reoptimization::masked;
    mode.sizing.kind = layer::Sizing::volatility;
    mode.sizing.target_volatility = 1.0;
    if (problem.groups > 0) {
      layer::LimitSchedule schedule;
      schedule.limits.push_back(limits_of(problem));
      mode.limits = std::make_shared<const layer::LimitSchedule>(std::move(schedule));
      mode.objective = {.kind = layer::Objective::expected_return, .volatility = problem.limits[0]};
    }
    layer = std::make_unique<layer::SparseTangent>(mode, *risk);
    cache = std::make_unique<layer::LayerCache>(*layer, problem.B, threads.count());
  }
};

// Largest |got - want| / |want| over the instances; NaN reads as beyond all bounds.
double worst_error(ConstMat got, ConstMat want) {
  double worst = 0.0;
  for (Index row = 0; row < got.rows; ++row) {
    double error = 0.0, size = 0.0;
    for (Index i = 0; i < got.cols; ++i) {
      error += (got(row, i) - want(row, i)) * (got(row, i) - want(row, i));
      size += want(row, i) * want(row, i);
    }
    const double relative = std::sqrt(error / size);
    worst = relative >= 0.0 ? std::max(worst, relative) : 1e300;
  }
  return worst;
}

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

// "VmRSS" (now) or "VmHWM" (the most so far), in megabytes.
double resident_mb(const std::string& what) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with(what + ":")) return std::stod(line.substr(what.size() + 1)) / 1024.0;
  return 0.0;
}

// VmHWM starts again from what is resident now. A kernel that does not allow it leaves it as it is.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

void measure(const std::string& path, int thread_count, double budget) {
  const auto now = [] { return bench::now(bench::Clock::wall); };
  const Problem problem(path);
  forget_peak();
  const double loaded_mb = resident_mb("VmRSS");
  std::vector<double> w(problem.dL_dw.size()), dL_dmu(problem.dL_dw.size());
  const Mat w_view{w.data(), problem.B, problem.n}, g_view{dL_dmu.data(), problem.B, problem.n};
  const ConstMat dL_dw = problem.of(problem.dL_dw, 0);

  const double start = now();
  const Threads threads(thread_count);
  Layer ours(problem, threads);
  const double constructed = now();
  Index signal = problem.signals - 1;  // of the last call
  const auto forward = [&] {
    signal = (signal + 1) % problem.signals;
    ours.layer->forward(ours.samples, problem.of(problem.mu, signal), *ours.cache, w_view,
                        ours.outcomes, threads);
  };
  const auto backward = [&] { ours.layer->vjp(*ours.cache, dL_dw, g_view, threads); };
  forward();
  backward();
  const double called = now();

  double weights_error = 0.0, gradient_error = 0.0;  // the largest of the calls looked at
  const auto right = [&] {
    weights_error = std::max(weights_error, worst_error(w_view, problem.of(problem.w, signal)));
    gradient_error =
        std::max(gradient_error, worst_error(g_view, problem.of(problem.dL_dmu, signal)));
    return weights_error <= kTolerance[0] && gradient_error <= kTolerance[1];
  };
  bool first_are_right = right();
  for (Index more = 1; more < problem.signals; ++more) {
    forward();
    backward();
    first_are_right = right();
  }

  std::vector<double> forwards, backwards;
  const double begun = now();
  while (first_are_right &&
         (forwards.size() < 5 || (now() - begun < budget && forwards.size() < 20000))) {
    const double before = now();
    forward();
    const double between = now();
    backward();
    forwards.push_back(between - before);
    backwards.push_back(now() - between);
  }
  std::string warm;
  if (first_are_right) {
    right();  // the last call, too
    warm = fmt::format(", \"forward\": {:.9g}, \"backward\": {:.9g}, \"calls\": {}",
                       median(forwards), median(backwards), forwards.size());
  }
  fmt::print(
      "{{\"construction\": {:.9g}, \"first\": {:.9g}{}, \"weights_error\": {:.3g}, "
      "\"gradient_error\": {:.3g}, \"loaded_mb\": {:.1f}, \"peak_mb\": {:.1f}}}\n",
      constructed - start, called - constructed, warm, weights_error, gradient_error, loaded_mb,
      resident_mb("VmHWM"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: layer_peer PROBLEM.bin THREADS SECONDS\n");
    return 2;
  }
  try {
    measure(argv[1], std::stoi(argv[2]), std::stod(argv[3]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "layer_peer: {}\n", error.what());
    return 1;
  }
}
