#include "sharpen/learn/network.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include "sharpen/base/error.hpp"

namespace sharpen::learn {

namespace {

// Zeros, in large pages where the system has them and there is much: a step walks through all of
// its memory, and with small pages a good part of its time goes into looking them up.
template <class Real>
std::vector<Real> zeros(Index count) {
  std::vector<Real> out;
  out.reserve(static_cast<std::size_t>(count));  // memory nobody has touched yet
#if defined(__linux__)
  constexpr std::size_t page = 4096, much = 4 << 20;
  char* first = reinterpret_cast<char*>(out.data());
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Real);
  const std::size_t skip = page - reinterpret_cast<std::uintptr_t>(first) % page;
  if (bytes >= much) madvise(first + skip, bytes - skip, MADV_HUGEPAGE);
#endif
  out.resize(static_cast<std::size_t>(count));
  return out;
}

const Shape& checked(const Shape& shape) {
  shape.validate();
  return shape;
}

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
  return layer == layers() ? outputs : hidden[at(layer - 1)];
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
  constexpr Index most_parameters = Index{1} << 36;
  if (parameters() > most_parameters)
    throw InputError("network: it has " + std::to_string(parameters()) + " parameters, more than " +
                     std::to_string(most_parameters));
}

template <class Real>
Network<Real>::Network(const Shape& shape_) : shape(shape_) {
  shape.validate();
  parameters = zeros<Real>(shape.parameters());
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
    : mean(zeros<Real>(checked(shape).parameters())), square(zeros<Real>(shape.parameters())) {}

template struct Network<float>;
template struct Network<double>;
template struct AdamState<float>;
template struct AdamState<double>;

}  // namespace sharpen::learn
