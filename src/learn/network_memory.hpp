// What a Pass holds: the plan of its tiles, made once, the memory they work in, and
// the products they are made of.
//
// Rows go through the network in chunks of kChunkRows. Within a chunk every phase is a loop over
// fixed tiles, whose sizes depend on the shape alone, so no sum depends on the number of threads.
#pragma once

#include <cblas.h>

#include <memory>
#include <new>
#include <vector>

#include "learn/kernels.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/learn/network.hpp"

namespace sharpen::learn {

// Products of row-major matrices on one thread, for float and double: thin names over CBLAS.
// beta is 0 (C is overwritten, whatever it held) or 1 (C grows).
// The calls themselves. C (m, n) = op(A) op(B) + beta C with k terms per entry.
inline void call_gemm(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, Index m, Index n, Index k,
                      const float* A, Index lda, const float* B, Index ldb, float beta, float* C,
                      Index ldc) {
  cblas_sgemm(CblasRowMajor, a, b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
              1.0F, A, static_cast<int>(lda), B, static_cast<int>(ldb), beta, C,
              static_cast<int>(ldc));
}
inline void call_gemm(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, Index m, Index n, Index k,
                      const double* A, Index lda, const double* B, Index ldb, double beta,
                      double* C, Index ldc) {
  cblas_dgemm(CblasRowMajor, a, b, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
              1.0, A, static_cast<int>(lda), B, static_cast<int>(ldb), beta, C,
              static_cast<int>(ldc));
}

// C (m, n) = A (m, k) B (k, n) + beta C.
template <class Real>
void multiply(BasicMat<const Real> A, BasicMat<const Real> B, Real beta, BasicMat<Real> C) {
  call_gemm(CblasNoTrans, CblasNoTrans, C.rows, C.cols, A.cols, A.data, A.stride, B.data, B.stride,
            beta, C.data, C.stride);
}

// C (m, n) = A (m, k) B^T, B (n, k), + beta C.
template <class Real>
void multiply_nt(BasicMat<const Real> A, BasicMat<const Real> B, Real beta, BasicMat<Real> C) {
  call_gemm(CblasNoTrans, CblasTrans, C.rows, C.cols, A.cols, A.data, A.stride, B.data, B.stride,
            beta, C.data, C.stride);
}

// C (m, n) = A^T B + beta C, A (k, m), B (k, n).
template <class Real>
void multiply_tn(BasicMat<const Real> A, BasicMat<const Real> B, Real beta, BasicMat<Real> C) {
  call_gemm(CblasTrans, CblasNoTrans, C.rows, C.cols, A.rows, A.data, A.stride, B.data, B.stride,
            beta, C.data, C.stride);
}

// The lower triangle of C (m, m) = A A^T, A (m, k); what lies above it is left alone.
inline void lower_gram(BasicMat<const float> A, BasicMat<float> C) {
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, static_cast<int>(C.rows),
              static_cast<int>(A.cols), 1.0F, A.data, static_cast<int>(A.stride), 0.0F, C.data,
              static_cast<int>(C.stride));
}
inline void lower_gram(BasicMat<const double> A, BasicMat<double> C) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, static_cast<int>(C.rows),
              static_cast<int>(A.cols), 1.0, A.data, static_cast<int>(A.stride), 0.0, C.data,
              static_cast<int>(C.stride));
}

// The columns first .. first + count - 1.
template <class T>
BasicMat<T> middle_cols(BasicMat<T> A, Index first, Index count) {
  return {A.data + first, A.rows, count, A.stride};
}

constexpr Index kChunkRows = 2048;
// Tiles of h_l and its delta: narrow where there is only one row of them, for threads to share.
constexpr Index kTileRows = 256, kTileCols = 512, kNarrowTileCols = 128;
constexpr Index kTileInputs = 256, kTileOutputs = 128;  // of a weight gradient
// A product over more inputs than kSplitInputs is cut into parts of about kPartInputs, summed in
// order afterwards, for at most kSplitRows rows at a time.
constexpr Index kSplitInputs = 4096, kPartInputs = 2048, kMostParts = 16, kSplitRows = 256;
// From kStreamWeights weights on, and up to kStreamRows rows, the gradient of a layer is made and
// used in tiles of about kStreamTile entries.
constexpr Index kStreamWeights = 1 << 18, kStreamRows = 256, kStreamTile = 1 << 17;
constexpr Index kBlock = 1 << 14;  // parameters per item of a pass over stored gradients

// Memory as it comes, on cache lines.
template <class T>
class Buffer {
 public:
  explicit Buffer(Index count = 0)
      : data_(static_cast<T*>(::operator new(at(count) * sizeof(T), std::align_val_t(64)))) {}
  T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  std::unique_ptr<T, Free> data_;
};

// Layer l takes h_l (rows, in) to h_(l+1) (rows, out).
struct LayerPlan {
  Index in = 0, out = 0;
  Index weights = 0, bias = 0;  // offsets into the parameters
  Index parts = 1, part = 0;    // of the inputs, in the product of the forward pass
  Index stream = 0;             // inputs per tile of a streamed gradient; 0: always stored
  Index stored = -1;            // offset of dW into the stored gradient; -1: has no place there
  Index stored_bias = 0;
};

struct WeightTile {
  Index layer, input, inputs, output, outputs;
};

// A piece of the parameters whose gradient is stored.
struct Block {
  Index layer, parameter, stored, count;
  bool weights;
};

template <class Real>
struct PassMemory {
  PassMemory(const Shape& shape, Index max_rows, int max_threads, std::size_t keep_bytes);
  void plan_layers();

  Shape shape;
  Index max_rows;
  int max_threads;
  const Kernels<Real>& kernel;
  std::vector<LayerPlan> layers;
  std::vector<WeightTile> weight_tiles;
  std::vector<Block> blocks;
  Index chunk;            // rows
  bool keep;              // the h_l of all rows, not only of one chunk
  Index rows = 0;         // that forward saw last
  Index stream_tile = 0;  // entries of a tile of a streamed gradient

  std::vector<Index> h_offset;              // of h_l in `activations`; by chunk row in `deltas`
  Buffer<Real> activations, deltas, parts;  // parts: also of Gram matrices
  Buffer<Real> stream_tiles, stored;
  std::vector<double> squares;   // |g|^2 of every block
  std::vector<double> streamed;  // of every part or tile of a layer that streams

  Index depth() const { return static_cast<Index>(layers.size()); }
  const LayerPlan& layer(Index l) const { return layers[at(l)]; }
  bool streams(const LayerPlan& layer) const { return layer.stream > 0 && rows <= kStreamRows; }

  // h_l of `count` rows from `first` on, l = 1 .. depth - 1; and their deltas.
  BasicMat<Real> h(Index l, Index first, Index count) const;
  BasicMat<Real> delta(Index l, Index count) const;
  BasicMat<const Real> W(const Real* parameters, const LayerPlan& layer) const {
    return {parameters + layer.weights, layer.in, layer.out};
  }

  void forward_chunk(const Real* parameters, BasicMat<const Real> X, BasicMat<Real> out,
                     Index first, const Threads& threads) const;
  void forward_layer(const Real* parameters, const LayerPlan& layer, BasicMat<const Real> in,
                     BasicMat<Real> out, bool relu, const Threads& threads) const;
  void forward_parts(const Real* parameters, const LayerPlan& layer, BasicMat<const Real> in,
                     BasicMat<Real> out, bool relu, const Threads& threads) const;

  // Where the gradient of a layer goes: into `whole`, laid out like the parameters, or, if that is
  // null, into the stored gradient. dW null: nowhere yet, it streams.
  struct Target {
    Real* dW;
    Real* db;
  };
  Target target(const LayerPlan& layer, Real* whole) const;
  // Fills the targets of all layers; leaves the deltas of the last chunk.
  void backward(const Real* parameters, BasicMat<const Real> X, BasicMat<const Real> dL_df,
                Real* whole, const Threads& threads) const;
  void backward_deltas(const Real* parameters, BasicMat<const Real> dL_df, Index first,
                       const Threads& threads) const;
  void check(const Network<Real>& network, BasicMat<const Real> X, BasicMat<const Real> f,
             const Threads& threads) const;
  void check_step(const Network<Real>& network, BasicMat<const Real> X, BasicMat<const Real> dL_df,
                  const Threads& threads) const;

  // |dW|^2 of a layer that streams, from h_l and delta_(l+1); and a bound on it that is quickly
  // had. NaN, or beyond Real, if |dW|^2 may be.
  double streamed_norm2(const LayerPlan& layer, BasicMat<const Real> h, BasicMat<const Real> delta,
                        const Threads& threads) const;
  double streamed_bound2(const LayerPlan& layer, BasicMat<const Real> h, BasicMat<const Real> delta,
                         const Threads& threads);
  double stored_norm2(const Threads& threads);
  // Updates the layer; returns |dW|^2.
  double streamed_adam(const LayerPlan& layer, BasicMat<const Real> h, BasicMat<const Real> delta,
                       const AdamCoefficients<Real>& adam, Real* parameters, AdamState<Real>& state,
                       const Threads& threads);
  void stored_adam(const AdamCoefficients<Real>& adam, Real* parameters, AdamState<Real>& state,
                   const Threads& threads) const;
};

template <class Real>
struct Pass<Real>::Memory : PassMemory<Real> {
  using PassMemory<Real>::PassMemory;
};

}  // namespace sharpen::learn
