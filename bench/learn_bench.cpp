// A training step of the joint network against its floor, the same products by plain BLAS calls
// plus one pass over the memory of Adam; and the layer as a share of the step.
#include <cblas.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "measure.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/learn/network.hpp"

namespace {

using namespace sharpen;
using namespace sharpen::learn;
using bench::at_most;
using bench::require;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr Index n = 208, T = 100, B = 64, kDays = 400;
constexpr int kRounds = 15;

// The least seconds of each, over rounds in which all take their turn: other work on the machine
// only ever adds.
std::vector<double> best(const std::vector<std::function<void()>>& runs, int rounds,
                         bench::Clock clock) {
  std::vector<double> least(runs.size(), 1e300);
  for (const auto& run : runs) run();
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double start = bench::now(clock);
      runs[i]();
      least[i] = std::min(least[i], bench::now(clock) - start);
    }
  return least;
}

FloatMatrix uniform(Index rows, Index cols, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<float> draw(-1.0F, 1.0F);
  return FloatMatrix::NullaryExpr(rows, cols, [&] { return draw(engine); });
}

BasicMat<float> view(FloatMatrix& m) { return {m.data(), m.rows(), m.cols()}; }

// The products of a step by one BLAS call each and thread, and a pass that reads and writes
// parameters, mean and square once.
struct Floor {
  Shape shape;
  std::vector<FloatMatrix> W, dW, h, delta;
  std::vector<float> memory;

  explicit Floor(const Shape& shape_) : shape(shape_) {
    for (Index l = 0; l <= shape.layers(); ++l) {
      h.push_back(uniform(B, shape.width(l), 1));
      delta.push_back(uniform(B, shape.width(l), 2));
      if (l == shape.layers()) break;
      W.push_back(uniform(shape.width(l), shape.width(l + 1), 3));
      dW.push_back(FloatMatrix::Zero(shape.width(l), shape.width(l + 1)));
    }
    memory.assign(static_cast<std::size_t>(3 * shape.parameters()), 0.5F);
  }

  // Part `part` of `parts` of the columns of C = op(A) op(B), or of its rows.
  static void product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, const FloatMatrix& A,
                      const FloatMatrix& B_, FloatMatrix& C, bool by_rows, Index part,
                      Index parts) {
    const Index k = ta == CblasNoTrans ? A.cols() : A.rows();
    const Index all = by_rows ? C.rows() : C.cols();
    const Index first = all * part / parts, count = all * (part + 1) / parts - first;
    const Index row = by_rows ? first : 0, col = by_rows ? 0 : first;
    const float* a = A.data() + (ta == CblasNoTrans ? row * A.cols() : row);
    const float* b = B_.data() + (tb == CblasNoTrans ? col : col * B_.cols());
    cblas_sgemm(CblasRowMajor, ta, tb, int(by_rows ? count : C.rows()),
                int(by_rows ? C.cols() : count), int(k), 1.0F, a, int(A.cols()), b, int(B_.cols()),
                0.0F, C.data() + row * C.cols() + col, int(C.cols()));
  }

  void forward(const Threads& threads) {
    const Index parts = threads.count();
    for (std::size_t l = 0; l < W.size(); ++l)
      threads.for_each(parts, [&](Index p, int) {
        product(CblasNoTrans, CblasNoTrans, h[l], W[l], h[l + 1], false, p, parts);
      });
  }
  void backward(const Threads& threads) {
    const Index parts = threads.count();
    for (std::size_t l = W.size() - 1; l > 0; --l)
      threads.for_each(parts, [&](Index p, int) {
        product(CblasNoTrans, CblasTrans, delta[l + 1], W[l], delta[l], false, p, parts);
      });
    threads.for_each(parts, [&](Index p, int) {
      for (std::size_t l = 0; l < W.size(); ++l)
        product(CblasTrans, CblasNoTrans, h[l], delta[l + 1], dW[l], true, p, parts);
    });
  }
  void stream(const Threads& threads) {
    const Index parts = threads.count(), count = shape.parameters();
    threads.for_each(parts, [&](Index part, int) {
      float* p = memory.data();
      float* m = p + count;
      float* v = m + count;
      for (Index i = count * part / parts; i < count * (part + 1) / parts; ++i) {
        p[i] = 0.999F * p[i] + 1e-4F;
        m[i] = 0.999F * m[i] + 1e-4F;
        v[i] = 0.999F * v[i] + 1e-4F;
      }
    });
  }
};

// A training of the joint network on a simulated panel, as far as time is concerned.
struct Training {
  Shape shape{n * T, {512, 256}, n};
  FloatMatrix panel = uniform(kDays, n, 5);
  FloatMatrix X{B, n*T}, f{B, n}, dL_df{B, n};
  Network<float> network{shape};
  AdamState<float> state{shape};
  AdamSettings adam{.learning_rate = 1e-4};
  Pass<float> pass{shape, B, 2};

  Training() {
    Random random(7);
    network.initialize(random);
    gather();
    dL_df = 0.01F * uniform(B, n, 6);
  }
  static Index sample(Index i) { return (i * 37) % (kDays - T); }  // of row i of the batch
  void gather() {
    for (Index i = 0; i < B; ++i) {
      const Index end = T + sample(i);
      std::copy_n(panel.data() + (end - T) * n, T * n, X.data() + i * n * T);
    }
  }
  void forward(const Threads& threads) { pass.forward(network, view(X), view(f), threads); }
  void backward(const Threads& threads) {
    require(pass.step(network, state, adam, view(X), view(dL_df), threads).finite, "a step");
  }
};

// The forward pass and one step against plain products.
void validate(Training& training) {
  const Threads one(1);
  Training fresh, plain;
  fresh.adam.clip = 1.0;
  FloatMatrix h = fresh.X;
  const float* at = fresh.network.parameters.data();
  for (Index l = 0; l < fresh.shape.layers(); ++l) {
    const Index in = fresh.shape.width(l), out = fresh.shape.width(l + 1);
    const Eigen::Map<const FloatMatrix> W(at, in, out), b(at + in * out, 1, out);
    h = ((h * W).rowwise() + b.row(0)).eval();
    if (l + 1 < fresh.shape.layers()) h = h.cwiseMax(0.0F);
    at += (in + 1) * out;
  }
  fresh.forward(one);
  require((fresh.f - h).cwiseAbs().maxCoeff() < 1e-4F, "forward is the formula");
  std::vector<float> g(fresh.network.parameters.size());
  fresh.pass.gradient(fresh.network, view(fresh.X), view(fresh.dL_df), g, one);
  double norm2 = 0.0;
  for (const float a : g) norm2 += double(a) * double(a);
  const StepReport report = fresh.pass.step(fresh.network, fresh.state, fresh.adam, view(fresh.X),
                                            view(fresh.dL_df), one);
  require(std::abs(report.gradient_norm / std::sqrt(norm2) - 1.0) < 1e-4, "the norm");
  plain.forward(one);
  const StepReport unclipped = plain.pass.step(plain.network, plain.state, plain.adam,
                                               view(plain.X), view(plain.dL_df), one);
  require(std::abs(unclipped.gradient_norm / std::sqrt(norm2) - 1.0) < 1e-4,
          "the norm without a clip");
  const double scale = 0.1 * std::min(1.0, 1.0 / std::sqrt(norm2));
  for (std::size_t i = 0; i < g.size(); ++i)
    require(std::abs(fresh.state.mean[i] - scale * g[i]) < 1e-5 * scale * std::sqrt(norm2), "Adam");
  training.forward(one);
}

void step_against_floor() {
  Training training, clipped;
  clipped.adam.clip = 1.0;
  clipped.forward(Threads(1));
  validate(training);
  Floor floor(training.shape);
  for (const int count : {1, 2}) {
    const Threads threads(count);
    const std::vector<double> t =
        best({[&] { training.forward(threads); }, [&] { training.backward(threads); },
              [&] { floor.forward(threads); }, [&] { floor.backward(threads); },
              [&] { floor.stream(threads); }, [&] { clipped.backward(threads); }},
             kRounds, count == 1 ? bench::Clock::cpu : bench::Clock::wall);
    const double step = t[0] + t[1], bound = t[2] + t[3] + t[4];
    fmt::print(
        "joint step, n = {}, T = {}, B = {}, {} thread{}: forward {:.1f} ms, backward and Adam "
        "{:.1f} ms (clipped {:.1f} ms); floor: forward {:.1f} ms, backward {:.1f} ms, one pass "
        "over Adam's {:.0f} MB "
        "{:.1f} ms\n",
        n, T, B, count, count == 1 ? "" : "s", 1e3 * t[0], 1e3 * t[1], 1e3 * t[5], 1e3 * t[2],
        1e3 * t[3], 4e-6 * double(floor.memory.size()), 1e3 * t[4]);
    at_most(fmt::format("network_step_over_floor_{}", count == 1 ? "one_thread" : "two_threads"),
            step / bound, 1.1);
  }
}

// A whole training step, from the windows to Adam, and the seconds of its layer.
struct LayerStep {
  Training& training;
  RowMatrix returns = 0.01 * training.panel.cast<double>();
  RowMatrix mu{B, n}, w{B, n}, dL_dw{B, n}, dL_dmu{B, n};
  std::vector<Index> ends, samples;
  std::unique_ptr<risk::Risk> risk;
  std::unique_ptr<layer::SparseTangent> layer;
  std::unique_ptr<layer::LayerCache> cache;
  std::vector<Outcome> outcomes{B};

  LayerStep(Training& training_, layer::Score score, layer::Reoptimization reoptimization,
            risk::Form form, const Threads& threads)
      : training(training_) {
    for (Index end = T; end < kDays; ++end) ends.push_back(end);
    for (Index i = 0; i < B; ++i) samples.push_back(Training::sample(i));
    risk::RiskSettings settings;
    settings.form = form;
    settings.parts = {.lower = score == layer::Score::cholesky,
                      .root = score == layer::Score::symmetric,
                      .restriction = reoptimization == layer::Reoptimization::restricted};
    risk = risk::from_windows({returns.data(), kDays, n}, T, ends, settings, threads);
    layer::LayerSettings mode;
    mode.k = n / 10;
    mode.score = score;
    mode.reoptimization = reoptimization;
    mode.sizing.kind = layer::Sizing::volatility;
    layer = std::make_unique<layer::SparseTangent>(mode, *risk);
    cache = std::make_unique<layer::LayerCache>(*layer, B, 2);
  }

  Mat at(RowMatrix& m) { return {m.data(), m.rows(), m.cols()}; }

  // alpha (-r'w) + (1 - alpha) |mu - r|^2 with alpha = 0.5, the mean over the batch.
  double run(const Threads& threads, bench::Clock clock) {
    training.gather();
    training.forward(threads);
    mu = 0.01 * training.f.cast<double>();
    double start = bench::now(clock);
    layer->forward(samples, at(mu), *cache, at(w), outcomes, threads);
    double seconds = bench::now(clock) - start;
    for (Index i = 0; i < B; ++i) dL_dw.row(i) = -0.5 / double(B) * target(i);
    start = bench::now(clock);
    layer->vjp(*cache, at(dL_dw), at(dL_dmu), threads);
    seconds += bench::now(clock) - start;
    for (Index i = 0; i < B; ++i) dL_dmu.row(i) += 1.0 / double(B) * (mu.row(i) - target(i));
    training.dL_df = (0.01 * dL_dmu).cast<float>();
    training.backward(threads);
    return seconds;
  }
  RowMatrix::RowXpr target(Index i) {
    return returns.row(ends[std::size_t(samples[std::size_t(i)])]);
  }

  void validate() {
    run(Threads(1), bench::Clock::cpu);
    for (const Outcome& outcome : outcomes) require(outcome.solved(), "an instance of the layer");
    require(training.dL_df.allFinite() && dL_dmu.norm() > 0.0, "the gradient of the layer");
  }
};

void layer_within_step() {
  using layer::Reoptimization;
  using layer::Score;
  using risk::Form;
  Training training;
  Floor floor(training.shape);
  struct Mode {
    const char* name;
    Score score;
    Reoptimization reoptimization;
    Form form;
    double bound;  // 0: only shown
  };
  const Mode modes[] = {
      {"masked, cholesky score, dense", Score::cholesky, Reoptimization::masked, Form::dense, 0.10},
      {"masked, symmetric score, dense", Score::symmetric, Reoptimization::masked, Form::dense, 0},
      {"masked, symmetric score, low rank", Score::symmetric, Reoptimization::masked,
       Form::low_rank, 0},
      {"restricted, symmetric score, low rank", Score::symmetric, Reoptimization::restricted,
       Form::low_rank, 0.25},
  };
  for (const Mode& mode : modes)
    for (const int count : {1, 2}) {
      const Threads threads(count);
      const bench::Clock clock = count == 1 ? bench::Clock::cpu : bench::Clock::wall;
      LayerStep step(training, mode.score, mode.reoptimization, mode.form, threads);
      step.validate();
      double whole = 1e300, layer = 1e300, bound = 1e300;
      for (int round = 0; round < kRounds; ++round) {
        const double start = bench::now(clock);
        layer = std::min(layer, step.run(threads, clock));
        const double stop = bench::now(clock);
        whole = std::min(whole, stop - start);
        floor.forward(threads);
        floor.backward(threads);
        floor.stream(threads);
        bound = std::min(bound, bench::now(clock) - stop);
      }
      fmt::print(
          "whole step, {} thread{}: {:.1f} ms, its floor {:.1f} ms; the layer ({}) {:.1f} ms\n",
          count, count == 1 ? "" : "s", 1e3 * whole, 1e3 * bound, mode.name, 1e3 * layer);
      if (mode.bound > 0.0)
        at_most(fmt::format("layer_{}_share_of_step_{}_thread{}",
                            mode.reoptimization == Reoptimization::masked ? "masked" : "restricted",
                            count == 1 ? "one" : "two", count == 1 ? "" : "s"),
                layer / whole, mode.bound);
      if (mode.score == Score::cholesky)
        at_most(
            fmt::format("training_step_over_floor_{}", count == 1 ? "one_thread" : "two_threads"),
            whole / bound, 1.1);
    }
}

}  // namespace

int main() {
  step_against_floor();
  layer_within_step();
}
