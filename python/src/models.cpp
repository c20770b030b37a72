// sharpen.train, sharpen.predict and the models between them.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "models.hpp"
#include "panels.hpp"
#include "sharpen/command/inspect.hpp"
#include "sharpen/command/orders.hpp"
#include "sharpen/command/predict.hpp"
#include "sharpen/command/train.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

using settings::Values;

nb::bytes model_bytes(const MemoryModel& self) {
  std::string bytes;
  {
    const nb::gil_scoped_release release;
    bytes = learn::model_bytes(self.model);
  }
  return nb::bytes(bytes.data(), bytes.size());
}

void model_from_bytes(MemoryModel* self, const nb::bytes& bytes) {
  const std::string_view text(bytes.c_str(), bytes.size());
  new (self) MemoryModel{learn::parse_model(text, "model")};
}

std::string epoch_text(const learn::EpochReport& report, Index ensemble) {
  std::string text = "epoch " + std::to_string(report.epoch);
  if (ensemble > 1) text = "member " + std::to_string(report.member + 1) + ", " + text;
  return text;
}

// The model and the warnings.
nb::tuple train(const SettingTexts& given, const MemoryPanel* panel, nb::object report) {
  Work work(std::move(report));
  auto answer = work.run([&] {
    const Values values = values_with_preset(settings::train, given);
    learn::TrainControl control{work.control()};
    control.epoch = [&](const learn::EpochReport& at) {
      work.note(epoch_text(at, values.integer("ensemble")));
    };
    return command::train_answer(values, copy_of(panel), Log(), control);
  });
  return nb::make_tuple(std::make_unique<MemoryModel>(MemoryModel{std::move(answer.model)}),
                        in_python_words(answer.warnings));
}

// A prediction, ready to be asked.
struct Predicted {
  command::Prediction prediction;
};

using Portfolio = std::vector<std::pair<std::string, double>>;

std::unique_ptr<Predicted> predict(const SettingTexts& given, const MemoryModel* model,
                                   const MemoryPanel* panel,
                                   const std::optional<Portfolio>& previous) {
  Work work{nb::none()};
  command::PredictInputs inputs;
  if (model != nullptr) inputs.model = model->model;
  inputs.panel = copy_of(panel);
  if (previous) {
    inputs.previous.emplace();
    for (const auto& [asset, weight] : *previous) inputs.previous->push_back({asset, weight});
  }
  return work.run([&] {
    return std::make_unique<Predicted>(Predicted{command::predict_answer(
        values_of(settings::predict, given), std::move(inputs), Log(), work.control())});
  });
}

// Orders, ready to be asked.
struct Ordered {
  command::OrdersAnswer answer;
};

std::unique_ptr<Ordered> orders(const SettingTexts& given, const MemoryModel* model,
                                const MemoryPanel* panel, const MemoryPanel* signal,
                                const std::optional<std::string>& positions) {
  Work work{nb::none()};
  return work.run([&] {
    command::OrdersInputs inputs;
    if (model != nullptr) inputs.model = model->model;
    inputs.panel = copy_of(panel);
    if (signal != nullptr) inputs.signal = signal->raw.panel;
    if (positions) inputs.positions = trade::parse_positions(*positions, "positions");
    return std::make_unique<Ordered>(Ordered{command::orders_answer(
        values_of(settings::predict, given), std::move(inputs), Log(), work.control())});
  });
}

}  // namespace

void add_models(nb::module_& module) {
  nb::class_<MemoryModel>(module, "Model")
      .def("__init__", &model_from_bytes, nb::arg("content"))
      .def_static(
          "read",
          [](const std::string& file) {
            const nb::gil_scoped_release release;
            return std::make_unique<MemoryModel>(MemoryModel{learn::read_model(file)});
          },
          nb::arg("file"))
      .def(
          "write",
          [](const MemoryModel& self, const std::string& file) {
            const nb::gil_scoped_release release;
            learn::write_model(self.model, file);
          },
          nb::arg("file"))
      .def("content", &model_bytes)
      .def("json", [](const MemoryModel& self) { return command::model_json(self.model); });
  module.def("train", &train, nb::arg("settings"), nb::arg("panel").none(),
             nb::arg("report").none());
  nb::class_<Predicted>(module, "Predicted")
      .def_prop_ro("names",
                   [](const Predicted& self) { return self.prediction.input.today.tickers; })
      .def_prop_ro(
          "weights",
          [](const Predicted& self) { return array_of(self.prediction.portfolio.weights); })
      .def_prop_ro("mu", [](const Predicted& self) { return array_of(self.prediction.mu); })
      .def_prop_ro("warnings",
                   [](const Predicted& self) { return in_python_words(self.prediction.warnings); })
      .def("json", [](const Predicted& self) { return command::predict_json(self.prediction); });
  nb::class_<Ordered>(module, "Orders")
      .def_prop_ro("warnings",
                   [](const Ordered& self) { return in_python_words(self.answer.warnings); })
      .def_prop_ro("orders_csv",
                   [](const Ordered& self) { return command::orders_csv(self.answer); })
      .def_prop_ro("positions_csv",
                   [](const Ordered& self) { return trade::positions_csv(self.answer.positions); })
      .def("json", [](const Ordered& self) { return command::orders_json(self.answer); });
  module.def("orders", &orders, nb::arg("settings"), nb::arg("model").none(),
             nb::arg("panel").none(), nb::arg("signal").none(), nb::arg("positions").none());
  module.def("asks_for_orders", [](const SettingTexts& given) {
    return command::asks_for_orders(values_of(settings::predict, given));
  });
  module.def("predict", &predict, nb::arg("settings"), nb::arg("model").none(),
             nb::arg("panel").none(), nb::arg("previous").none());
}

}  // namespace sharpen::python
