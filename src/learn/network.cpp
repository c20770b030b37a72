#include "sharpen/learn/network.hpp"

#include <cmath>
#include <limits>

#include "sharpen/base/error.hpp"

namespace sharpen::learn {

namespace {

// a + b * c for counts, at the greatest Index instead of beyond it.
Index add_product(Index a, Index b, Index c) {
  Index product = 0, sum = 0;
  if (__builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &sum))
    return std::numeric_limits<Index>::max();
  return sum;
}

}  // namespace

Index Shape::width(Index layer) const {
  if (layer == 0) return inputs;
  return layer == layers() ? outputs : hidden[static_cast<std::size_t>(layer - 1)];
}

Index Shape::parameters() const {
  Index count = 0;
  for (Index l = 0; l < layers(); ++l)
    count = add_product(count, add_product(1, width(l), 1), width(l + 1));
  return count;
}

void Shape::validate() const {
  constexpr Index most = std::numeric_limits<int>::max();  // what a BLAS call can take
  for (Index l = 0; l <= layers(); ++l) {
    if (width(l) >= 1 && width(l) <= most) continue;
    const std::string which = l == 0          ? "inputs"
                              : l == layers() ? "outputs"
                                              : "hidden layer " + std::to_string(l);
    throw InputError("network: " + which + " = " + std::to_string(width(l)) + " is outside [1, " +
                     std::to_string(most) + "]");
  }
}

template <class Real>
Network<Real>::Network(const Shape& shape_) : shape(shape_) {
  shape.validate();
  parameters.resize(static_cast<std::size_t>(shape.parameters()));
}

template <class Real>
void Network<Real>::initialize(Random& random) {
  std::size_t at = 0;
  for (Index l = 0; l < shape.layers(); ++l) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(shape.width(l)));
    const Index count = (shape.width(l) + 1) * shape.width(l + 1);
    for (Index i = 0; i < count; ++i)
      parameters[at++] = static_cast<Real>(bound * (2.0 * random.uniform() - 1.0));
  }
}

template <class Real>
AdamState<Real>::AdamState(const Shape& shape)
    : mean(static_cast<std::size_t>(shape.parameters())), square(mean.size()) {}

template struct Network<float>;
template struct Network<double>;
template struct AdamState<float>;
template struct AdamState<double>;

}  // namespace sharpen::learn
