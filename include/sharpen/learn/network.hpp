// Fully connected networks with ReLU between the layers, and their training step.
//
//   h_0 = x,  h_l = max(0, h_(l-1) W_l + b_l),  f(x) = h_(L-1) W_L + b_L
//
// over a batch X (rows, inputs). Real is float for training, double for checks of gradients.
// The products are BLAS calls on fixed tiles, each computed by one thread in the same order, so
// results have equal bits for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sharpen/base/random.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::learn {

struct Shape {
  Index inputs = 1;
  std::vector<Index> hidden = {512, 256};
  Index outputs = 1;

  Index layers() const { return static_cast<Index>(hidden.size()) + 1; }
  Index width(Index layer) const;  // of h_layer: inputs at 0, outputs at layers()
  Index parameters() const;        // of all W_l and b_l; the greatest Index if there are more
  void validate() const;  // throws InputError for a width outside [1, 2^31) or > 2^36 parameters
  bool operator==(const Shape&) const = default;
};

// The parameters in one row, layer by layer: W_l (in, out) row-major, then b_l (out).
template <class Real>
struct Network {
  Shape shape;
  std::vector<Real> parameters;

  Network() = default;
  explicit Network(const Shape& shape_);  // zeros
  // Uniform in +-1/sqrt(inputs of the layer), weights and biases.
  void initialize(Random& random);
};

struct AdamSettings {
  double learning_rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.0;  // decoupled: parameters shrink by learning_rate * weight_decay
  double clip = 0.0;          // greatest norm of the whole gradient; 0: any
};

template <class Real>
struct AdamState {
  std::vector<Real> mean, square;  // like the parameters
  std::int64_t steps = 0;

  AdamState() = default;
  explicit AdamState(const Shape& shape);  // zeros
};

struct StepReport {
  double gradient_norm = 0.0;  // before clipping
  bool finite = true;          // false: the gradient is not, and nothing was changed
};

// The memory of forward and backward passes over at most max_rows rows. Hidden activations are kept
// from forward to step if they fit into keep_bytes, and made again chunk by chunk if not, to the
// same bits. Nothing is allocated after construction. Shapes that do not fit are InputErrors.
template <class Real>
class Pass {
 public:
  Pass(const Shape& shape, Index max_rows, int max_threads,
       std::size_t keep_bytes = std::size_t{512} << 20);
  ~Pass();
  Pass(Pass&&) noexcept;
  Pass& operator=(Pass&&) noexcept;

  // out (rows, outputs) = f(X), X (rows, inputs) with any stride. Keeps what a step needs. A row of
  // out depends on its own row of X; its last bits also on the number of rows, as BLAS has it.
  void forward(const Network<Real>& network, BasicMat<const Real> X, BasicMat<Real> out,
               const Threads& threads);
  // One step of Adam from dL/df (rows, outputs) at the X that forward saw last. The gradient of
  // the first layer is made and used tile by tile, and never stored.
  StepReport step(Network<Real>& network, AdamState<Real>& state, const AdamSettings& settings,
                  BasicMat<const Real> X, BasicMat<const Real> dL_df, const Threads& threads);
  // The gradient itself, laid out like the parameters.
  void gradient(const Network<Real>& network, BasicMat<const Real> X, BasicMat<const Real> dL_df,
                std::span<Real> out, const Threads& threads);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

extern template struct Network<float>;
extern template struct Network<double>;
extern template struct AdamState<float>;
extern template struct AdamState<double>;
extern template class Pass<float>;
extern template class Pass<double>;

}  // namespace sharpen::learn
