// A trained model: what it was trained on, how, and the parameters of its members.
//
// Member m maps a window of returns R (T, n) to expected returns by
//   x_ti = (R_ti - mean_i) / scale_i,  mu_i = unit f_m(x)_i
// with mean and scale learned on the training samples, and one unit for all assets: expected
// returns differ less between assets than volatilities do (docs/learning.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/learn/settings.hpp"

namespace sharpen::learn {

struct Scaling {
  std::vector<double> mean, scale;  // (n), scale > 0

  double unit() const;  // root mean square of the scales: what one of the network's units is

  bool operator==(const Scaling&) const = default;
};

struct Member {
  Network<float> network;  // of shape settings.shape(n)
  Index epochs = 0;        // run
  Index best_epoch = 0;    // whose parameters these are, from 1
  // With validation: the decision loss of the ensemble at the best epoch, after costs, and its
  // Sharpe ratio per period. Old files have the member's own.
  std::optional<double> validation_loss = {}, validation_sharpe = {};

  std::optional<double> yearly_sharpe(double periods_per_year) const;  // of the validation
};

struct Model {
  TrainSettings settings;
  std::vector<std::string> tickers;   // (n)
  std::string first_date, last_date;  // of the returns it has seen, validation included
  std::string validation_from;        // first target date of the validation; "": none
  Index samples = 0, validation_samples = 0;
  double periods_per_year = 252.0;
  double cost_bps = 5.0;  // of trading, for who uses it; the loss has its own
  Scaling scaling;
  std::vector<Member> members;

  Index n() const { return static_cast<Index>(tickers.size()); }
};

// Expectations of one member for several windows: mu (W, m). Window w is the T rows of `returns`
// (R, m) before row ends[w]; column j of `returns` is asset assets[j] of the model. joint needs all
// n assets in order. Non-finite returns give non-finite expectations.
void expected_returns(const Model& model, Index member, ConstMat returns,
                      std::span<const Index> ends, std::span<const Index> assets, Mat mu,
                      const Threads& threads);

// Model files: little-endian, versioned, with a checksum over everything before it
// (docs/learning.md). Reading checks every length before it allocates and runs nothing from the
// file; a file that is truncated, altered, of a newer version or no model at all is an InputError
// that says which.
void write_model(const Model& model, const std::filesystem::path& file);
Model read_model(const std::filesystem::path& file);
std::string model_bytes(const Model& model);
Model parse_model(std::string_view bytes, std::string_view name);

// Whether a file begins as a model does.
bool is_model_file(const std::filesystem::path& file);

// A model and what its file says of itself.
struct ModelFile {
  Model model;
  std::string program_version;  // of the Sharpen that wrote it
  std::uint32_t format_version = 0;
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;
};
ModelFile read_model_file(const std::filesystem::path& file);

}  // namespace sharpen::learn
