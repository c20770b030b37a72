// Our layer from C++, for the comparison with its peers: one problem in, one JSON object out.
//   layer_peer PROBLEM.bin THREADS SECONDS
// The file (bench/peers/sharpen_peers/problem.py) holds int64 n, B, k; then, as doubles, mu (B, n),
// Sigma (B, n, n), dL/dw (B, n), and the reference's w and dL/dmu (B, n). Times are wall clock, in
// seconds; warm ones are medians over at least five calls and for about SECONDS. There are none if
// the first answer is wrong.
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
  Index n = 0, B = 0, k = 0;
  std::vector<double> mu, Sigma, dL_dw, w, dL_dmu;

  explicit Problem(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::int64_t sizes[3] = {};
    file.read(reinterpret_cast<char*>(sizes), sizeof sizes);
    n = sizes[0];
    B = sizes[1];
    k = sizes[2];
    if (!file || n < 1 || B < 1 || n > 10000 || B > 10000)
      throw std::runtime_error(path + ": not a problem of the comparison");
    const auto read = [&](std::vector<double>& to, Index count) {
      to.resize(static_cast<std::size_t>(count));
      file.read(reinterpret_cast<char*>(to.data()),
                static_cast<std::streamsize>(to.size() * sizeof(double)));
    };
    read(mu, B * n);
    read(Sigma, B * n * n);
    read(dL_dw, B * n);
    read(w, B * n);
    read(dL_dmu, B * n);
    if (!file) throw std::runtime_error(path + ": too short");
  }
};

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
    layer = std::make_unique<layer::SparseTangent>(mode, *risk);
    cache = std::make_unique<layer::LayerCache>(*layer, problem.B, threads.count());
  }
};

// Largest |got - want| / |want| over the instances; NaN reads as beyond all bounds.
double worst_error(const std::vector<double>& got, const std::vector<double>& want, Index n) {
  double worst = 0.0;
  for (std::size_t first = 0; first < got.size(); first += static_cast<std::size_t>(n)) {
    double error = 0.0, size = 0.0;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(n); ++i) {
      error += (got[i] - want[i]) * (got[i] - want[i]);
      size += want[i] * want[i];
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
  std::vector<double> w(problem.mu.size()), dL_dmu(problem.mu.size());
  const Mat w_view{w.data(), problem.B, problem.n}, g_view{dL_dmu.data(), problem.B, problem.n};
  const ConstMat mu{problem.mu.data(), problem.B, problem.n};
  const ConstMat dL_dw{problem.dL_dw.data(), problem.B, problem.n};

  const double start = now();
  const Threads threads(thread_count);
  Layer ours(problem, threads);
  const double constructed = now();
  const auto forward = [&] {
    ours.layer->forward(ours.samples, mu, *ours.cache, w_view, ours.outcomes, threads);
  };
  const auto backward = [&] { ours.layer->vjp(*ours.cache, dL_dw, g_view, threads); };
  forward();
  backward();
  const double called = now();

  double weights_error = 0.0, gradient_error = 0.0;  // the largest of the calls looked at
  const auto right = [&] {
    weights_error = std::max(weights_error, worst_error(w, problem.w, problem.n));
    gradient_error = std::max(gradient_error, worst_error(dL_dmu, problem.dL_dmu, problem.n));
    return weights_error <= kTolerance[0] && gradient_error <= kTolerance[1];
  };
  const bool first_is_right = right();

  std::vector<double> forwards, backwards;
  const double begun = now();
  while (first_is_right &&
         (forwards.size() < 5 || (now() - begun < budget && forwards.size() < 20000))) {
    const double before = now();
    forward();
    const double between = now();
    backward();
    forwards.push_back(between - before);
    backwards.push_back(now() - between);
  }
  std::string warm;
  if (first_is_right) {
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
