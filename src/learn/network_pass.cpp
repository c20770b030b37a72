// Forward and backward passes on fixed tiles; see network_memory.hpp for the plan.
#include <algorithm>
#include <limits>
#include <string>

#include "learn/network_memory.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::learn {

namespace {

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

LayerPlan plan_layer(Index in, Index out) {
  LayerPlan plan;
  plan.in = in;
  plan.out = out;
  // A multiple of four divides evenly among the usual numbers of threads.
  if (in > kSplitInputs) plan.parts = std::min(4 * ceil_div(in, 4 * kPartInputs), kMostParts);
  plan.part = ceil_div(in, plan.parts);
  plan.parts = ceil_div(in, plan.part);
  if (in * out >= kStreamWeights)
    plan.stream = std::min(std::max<Index>(kStreamTile / out, 16), in);
  return plan;
}

// Calls tile(row, rows, col, cols) for every tile of a (rows, cols) matrix.
template <class Tile>
void for_each_tile(Index rows, Index cols, const Threads& threads, const Tile& tile) {
  const Index width = rows > kTileRows ? kTileCols : kNarrowTileCols;
  const Index across = ceil_div(cols, width);
  threads.for_each(ceil_div(rows, kTileRows) * across, [&](Index item, int) {
    const Index row = item / across * kTileRows, col = item % across * width;
    tile(row, std::min(kTileRows, rows - row), col, std::min(width, cols - col));
  });
}

[[noreturn]] void fail(const std::string& what, Index value, Index bound) {
  throw InputError("network: " + what + " = " + std::to_string(value) + ", must be " +
                   std::to_string(bound));
}

}  // namespace

template <class Real>
PassMemory<Real>::PassMemory(const Shape& shape_, Index max_rows_, int max_threads_,
                             std::size_t keep_bytes)
    : shape(shape_), max_rows(max_rows_), max_threads(max_threads_), kernel(kernels<Real>()) {
  shape.validate();
  if (max_rows < 1) throw InputError("network: max_rows = " + std::to_string(max_rows) + " < 1");
  if (max_threads < 1)
    throw InputError("network: max_threads = " + std::to_string(max_threads) + " < 1");
  chunk = std::min(max_rows, kChunkRows);
  Index hidden = 0;
  for (const Index width : shape.hidden) {
    h_offset.push_back(hidden);
    hidden += width;
  }
  keep = static_cast<double>(max_rows) * static_cast<double>(hidden) * sizeof(Real) <=
         static_cast<double>(keep_bytes);
  activations = Buffer<Real>((keep ? max_rows : chunk) * hidden);
  deltas = Buffer<Real>(chunk * hidden);
  plan_layers();
}

template <class Real>
void PassMemory<Real>::plan_layers() {
  Index parameter = 0, stored_count = 0, parts_count = 0, stream_count = 0;
  const auto add_blocks = [&](Index layer, bool weights, Index first, Index count) {
    for (Index i = 0; i < count; i += kBlock)
      blocks.push_back({layer, first + i, stored_count + i, std::min(kBlock, count - i), weights});
    stored_count += count;
  };
  for (Index l = 0; l < shape.layers(); ++l) {
    LayerPlan plan = plan_layer(shape.width(l), shape.width(l + 1));
    plan.weights = parameter;
    plan.bias = parameter + plan.in * plan.out;
    parameter = plan.bias + plan.out;
    if (plan.stream == 0 || max_rows > kStreamRows) {
      plan.stored = stored_count;
      add_blocks(l, true, plan.weights, plan.in * plan.out);
    }
    plan.stored_bias = stored_count;
    add_blocks(l, false, plan.bias, plan.out);

    const Index split_rows = std::min(max_rows, kSplitRows);
    if (plan.parts > 1) parts_count = std::max(parts_count, plan.parts * split_rows * plan.out);
    if (plan.stream > 0) {
      const Index stream_rows = std::min(max_rows, kStreamRows);
      parts_count = std::max(parts_count, (plan.parts + 1) * stream_rows * stream_rows);
      stream_count = std::max(stream_count, plan.stream * plan.out);
      streamed.resize(
          std::max({streamed.size(), at(plan.parts), at(ceil_div(plan.in, plan.stream))}));
    }
    for (Index i = 0; i < plan.in; i += kTileInputs)
      for (Index j = 0; j < plan.out; j += kTileOutputs)
        weight_tiles.push_back(
            {l, i, std::min(kTileInputs, plan.in - i), j, std::min(kTileOutputs, plan.out - j)});
    layers.push_back(plan);
  }
  parts = Buffer<Real>(parts_count);
  stream_tile = stream_count;
  stream_tiles = Buffer<Real>(stream_count * max_threads);
  stored = Buffer<Real>(stored_count);
  squares.resize(blocks.size());
}

template <class Real>
BasicMat<Real> PassMemory<Real>::h(Index l, Index first, Index count) const {
  const Index width = shape.width(l), rows_held = keep ? max_rows : chunk;
  Real* data = activations.data() + h_offset[at(l - 1)] * rows_held;
  return {data + (keep ? first : 0) * width, count, width};
}

template <class Real>
BasicMat<Real> PassMemory<Real>::delta(Index l, Index count) const {
  const Index width = shape.width(l);
  return {deltas.data() + h_offset[at(l - 1)] * chunk, count, width};
}

template <class Real>
void PassMemory<Real>::forward_layer(const Real* parameters, const LayerPlan& layer,
                                     BasicMat<const Real> in, BasicMat<Real> out, bool relu,
                                     const Threads& threads) const {
  if (layer.parts > 1) {
    for (Index row = 0; row < in.rows; row += kSplitRows) {
      const Index count = std::min(kSplitRows, in.rows - row);
      forward_parts(parameters, layer, in.middle_rows(row, count), out.middle_rows(row, count),
                    relu, threads);
    }
    return;
  }
  for_each_tile(out.rows, out.cols, threads, [&](Index row, Index rows_, Index col, Index cols) {
    const BasicMat<Real> tile = middle_cols(out.middle_rows(row, rows_), col, cols);
    multiply<Real>(in.middle_rows(row, rows_), middle_cols(W(parameters, layer), col, cols), 0,
                   tile);
    kernel.add_bias(tile, parameters + layer.bias + col, relu);
  });
}

// out = act(sum over parts of in_part W_part + b): each part by one thread, then, row by row, their
// sum in order.
template <class Real>
void PassMemory<Real>::forward_parts(const Real* parameters, const LayerPlan& layer,
                                     BasicMat<const Real> in, BasicMat<Real> out, bool relu,
                                     const Threads& threads) const {
  const Index size = out.rows * out.cols;
  threads.for_each(layer.parts, [&](Index p, int) {
    const Index first = p * layer.part, count = std::min(layer.part, layer.in - first);
    multiply<Real>(middle_cols(in, first, count), W(parameters, layer).middle_rows(first, count), 0,
                   {parts.data() + p * size, out.rows, out.cols});
  });
  threads.for_each(out.rows, [&](Index row, int) {
    const BasicMat<Real> one = out.middle_rows(row, 1);
    kernel.add_parts(parts.data() + row * out.cols, layer.parts, size, out.cols, one.data);
    kernel.add_bias(one, parameters + layer.bias, relu);
  });
}

template <class Real>
void PassMemory<Real>::forward_chunk(const Real* parameters, BasicMat<const Real> X,
                                     BasicMat<Real> out, Index first,
                                     const Threads& threads) const {
  BasicMat<const Real> in = X;
  for (Index l = 0; l < depth(); ++l) {
    const bool last = l + 1 == depth();
    if (last && out.data == nullptr) return;
    const BasicMat<Real> next = last ? out : h(l + 1, first, X.rows);
    forward_layer(parameters, layer(l), in, next, !last, threads);
    in = next;
  }
}

// delta_l = (delta_(l+1) W_l^T) where h_l > 0, from the last hidden layer to the first.
template <class Real>
void PassMemory<Real>::backward_deltas(const Real* parameters, BasicMat<const Real> dL_df,
                                       Index first, const Threads& threads) const {
  BasicMat<const Real> next = dL_df;
  for (Index l = depth() - 1; l >= 1; --l) {
    const BasicMat<const Real> weights = W(parameters, layer(l)), active = h(l, first, dL_df.rows);
    const BasicMat<Real> here = delta(l, dL_df.rows);
    for_each_tile(
        here.rows, here.cols, threads, [&](Index row, Index rows_, Index col, Index cols) {
          const BasicMat<Real> tile = middle_cols(here.middle_rows(row, rows_), col, cols);
          multiply_nt<Real>(next.middle_rows(row, rows_), weights.middle_rows(col, cols), 0, tile);
          kernel.mask(tile, middle_cols(active.middle_rows(row, rows_), col, cols));
        });
    next = here;
  }
}

template <class Real>
typename PassMemory<Real>::Target PassMemory<Real>::target(const LayerPlan& layer,
                                                           Real* whole) const {
  if (whole != nullptr) return {whole + layer.weights, whole + layer.bias};
  return {streams(layer) ? nullptr : stored.data() + layer.stored,
          stored.data() + layer.stored_bias};
}

template <class Real>
void PassMemory<Real>::backward(const Real* parameters, BasicMat<const Real> X,
                                BasicMat<const Real> dL_df, Real* whole,
                                const Threads& threads) const {
  for (Index first = 0; first < rows; first += chunk) {
    const Index count = std::min(chunk, rows - first);
    const BasicMat<const Real> x = X.middle_rows(first, count), g = dL_df.middle_rows(first, count);
    if (!keep) forward_chunk(parameters, x, {}, first, threads);
    backward_deltas(parameters, g, first, threads);
    const bool add = first > 0;
    threads.for_each(static_cast<Index>(weight_tiles.size()), [&](Index item, int) {
      const WeightTile& tile = weight_tiles[at(item)];
      const Index l = tile.layer;
      const Target to = target(layer(l), whole);
      const BasicMat<const Real> in = l == 0 ? x : h(l, first, count);
      const BasicMat<const Real> next = l + 1 == depth() ? g : delta(l + 1, count);
      const BasicMat<const Real> next_tile = middle_cols(next, tile.output, tile.outputs);
      if (to.dW != nullptr)
        multiply_tn<Real>(middle_cols(in, tile.input, tile.inputs), next_tile, add ? 1 : 0,
                          {to.dW + tile.input * layer(l).out + tile.output, tile.inputs,
                           tile.outputs, layer(l).out});
      if (tile.input == 0) kernel.column_sums(next_tile, add, to.db + tile.output);
    });
  }
}

template <class Real>
void PassMemory<Real>::check(const Network<Real>& network, BasicMat<const Real> X,
                             BasicMat<const Real> f, const Threads& threads) const {
  if (network.shape != shape) throw InputError("network: its shape is not that of the pass");
  const auto count = static_cast<Index>(network.parameters.size());
  if (count != shape.parameters()) fail("parameters", count, shape.parameters());
  if (X.stride > std::numeric_limits<int>::max() || f.stride > std::numeric_limits<int>::max())
    throw InputError("network: rows are 2^31 or more entries apart");
  if (X.cols != shape.inputs) fail("columns of X", X.cols, shape.inputs);
  if (f.cols != shape.outputs) fail("columns of f", f.cols, shape.outputs);
  if (f.rows != X.rows) fail("rows of f", f.rows, X.rows);
  if (X.rows > max_rows)
    throw InputError("network: rows = " + std::to_string(X.rows) +
                     " > max_rows = " + std::to_string(max_rows));
  if (threads.count() > max_threads)
    throw InputError("network: threads = " + std::to_string(threads.count()) +
                     " > max_threads = " + std::to_string(max_threads));
}

template <class Real>
void PassMemory<Real>::check_step(const Network<Real>& network, BasicMat<const Real> X,
                                  BasicMat<const Real> dL_df, const Threads& threads) const {
  check(network, X, dL_df, threads);
  if (X.rows != rows) fail("rows of a step", X.rows, rows);
}

template <class Real>
Pass<Real>::Pass(const Shape& shape, Index max_rows, int max_threads, std::size_t keep_bytes)
    : memory_(std::make_unique<Memory>(shape, max_rows, max_threads, keep_bytes)) {}
template <class Real>
Pass<Real>::~Pass() = default;
template <class Real>
Pass<Real>::Pass(Pass&&) noexcept = default;
template <class Real>
Pass<Real>& Pass<Real>::operator=(Pass&&) noexcept = default;

template <class Real>
void Pass<Real>::forward(const Network<Real>& network, BasicMat<const Real> X, BasicMat<Real> out,
                         const Threads& threads) {
  Memory& memory = *memory_;
  memory.check(network, X, out, threads);
  memory.rows = X.rows;
  for (Index first = 0; first < X.rows; first += memory.chunk) {
    const Index count = std::min(memory.chunk, X.rows - first);
    memory.forward_chunk(network.parameters.data(), X.middle_rows(first, count),
                         out.middle_rows(first, count), first, threads);
  }
}

template <class Real>
void Pass<Real>::gradient(const Network<Real>& network, BasicMat<const Real> X,
                          BasicMat<const Real> dL_df, std::span<Real> out, const Threads& threads) {
  memory_->check_step(network, X, dL_df, threads);
  const auto count = static_cast<Index>(out.size());
  if (count != memory_->shape.parameters()) fail("gradient", count, memory_->shape.parameters());
  if (X.rows == 0) std::fill(out.begin(), out.end(), Real(0));
  memory_->backward(network.parameters.data(), X, dL_df, out.data(), threads);
}

template struct PassMemory<float>;
template struct PassMemory<double>;
template class Pass<float>;
template class Pass<double>;

}  // namespace sharpen::learn
