// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/late_value.h"
#include "riesz/optim/group.h"
#include "riesz/optim/per_element.h"
#include "riesz/optim/state.h"
#include "riesz/optim/store.h"

namespace riesz {

/// The Error that `Optimizer::step` throws where a gradient is not finite.
class NotFiniteGradient : public Error {
 public:
  NotFiniteGradient(const std::string& message, std::string parameter, bool late = false)
      : Error(message), parameter_(std::move(parameter)), late_(late) {}
  /// The first parameter whose gradient is not finite.
  const std::string& parameter() const { return parameter_; }
  /// Is it of the last step, which a device has left out?
  bool late() const { return late_; }

 private:
  std::string parameter_;
  bool late_;
};

/// An optimizer: updates values by their gradients, wherever the store says they lie. Every optimizer updates
/// the vectors meant, so it does the same at every layout and share. A parameter that no gradient reached has
/// a zero gradient.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Makes a step. Collective over the store's partition: what the store and the optimizer move, and one
  /// AllMin of one number that says whether all gradients are finite. On the CPU it is left out where
  /// `clip_gradients` or a LossScale has found the gradients finite. Errors come before anything is changed.
  /// First it throws what the checks of its last step have found on a device (`settle_late_checks`).
  /// @throws NotFiniteGradient naming the parameter if a gradient is NaN or infinite on any worker. On a
  /// device the step changes nothing then, and the next one throws. All throw it alike. But on the CPU a
  /// worker that changed a gradient after the check throws alone.
  /// @throws Error if the store's shares are not what they were, or if gradients are reduced and should not
  /// be, or the reverse. Also, alike on all workers, if the `state_place` fails on one: its state is lost
  /// then. With a disk a step has one AllMin of one number more.
  void step();
  void zero_gradients() { store_->zero_gradients(); }

  /// The learning rate; groups scale it.
  double learning_rate() const { return general_.learning_rate; }
  void set_learning_rate(double learning_rate);
  /// Sets SGD's momentum or beta1, for parameters whose group has none of its own. For schedules that vary
  /// it.
  /// @throws Error if the optimizer has none, or unless 0 ≤ momentum < 1.
  void set_momentum(double momentum);

  /// Steps so far. On a device it waits to know whether the last one was made.
  std::int64_t steps() const;
  /// This worker's part of all that a checkpoint needs: the store's values and masters, what the optimizer
  /// keeps of them, and each parameter's number of steps. So optimizers with different numbers of steps can
  /// be saved together. Take it between steps; as collective as the store's. After `SavedState` or
  /// `load_checkpoint` has written into it, the optimizer goes on from there at once. Where something was
  /// missing or misshapen, its next step is an error until `loaded` was called.
  /// @throws Error naming two parameters of one name: a saved state could not tell them apart.
  State state();
  /// Goes on from what was written into its state. Call it on all workers alike if you write there yourself.
  /// @throws Error naming two parameters that were loaded after different numbers of steps.
  virtual void loaded();
  /// The part of `state` that it keeps of the parameters.
  State kept() const;
  /// What it keeps on this worker in memory, in bytes, and what in the store's `state_place`.
  std::int64_t bytes() const;
  std::int64_t bytes_elsewhere() const;

  /// Does the next step take gradients summed over the data-parallel workers? If not, it takes each worker's
  /// own term.
  virtual bool wants_reduced_gradients() const { return true; }

  const std::string& name() const { return name_; }
  std::shared_ptr<Store> store() const { return store_; }

 protected:
  /// What an update looks at: each element by itself, or whole parameters, such as for their norms.
  enum class LooksAt { elements, parameters };

  /// @throws Error naming the option of `general` or of a group that is out of range, or that the optimizer
  /// lacks; or the store's `state_place`, where updates look at whole parameters.
  Optimizer(std::string name, std::shared_ptr<Store> store, const Setting& general, std::vector<Group> groups,
            LooksAt looks_at = LooksAt::parameters);

  /// Keeps a number for each element, such as a moment, zero at first. With `has`, for those parameters
  /// alone.
  /// On a disk it is collective: one AllMin of one number. @throws Error on all workers if there is no
  /// room on one.
  const PerElement& keep(const std::string& key, const Which& has = {});
  const std::vector<Extent>& extents() const { return extents_; }
  /// The setting of share i at this step.
  Setting setting(std::size_t i) const {
    return setting_of(extents_[extents_[i].copy_of.value_or(i)].parameter, general_, groups_);
  }

  /// On a device, in a step: a flag without dims, false where the step must change nothing. Undefined on the
  /// CPU, where such a step has thrown.
  const at::Tensor& finite() const { return finite_; }
  /// The same as LibTorch's fused updates take it: 1 where the step must change nothing.
  const std::optional<at::Tensor>& found_inf() const { return found_inf_; }
  /// x ← next unless the step must change nothing, on a device.
  void write(const at::Tensor& x, const at::Tensor& next) const;
  /// Steps so far, where the last one counts even if it turns out to have changed nothing. Never waits.
  std::int64_t steps_begun() const { return steps_; }

  // The step, the `steps`-th counted from 1, without gradient recording: first what needs the shares of all
  // parts, such as norms over the workers; then each part, which is spread while the next one is updated. Of
  // a part whose state lies in a `StatePlace`, window by window: its shares are then cut to the window.
  virtual void prepare(const std::vector<Share>&) {}
  virtual void update(const std::vector<Share>& shares, const StorePart& part) = 0;
  /// State besides the numbers for each element.
  virtual State more_kept() const { return {}; }
  /// The bytes that it derives from its state.
  virtual std::int64_t derived_bytes() const { return 0; }

 private:
  void know_last_step() const;
  std::shared_ptr<PerElement> room_for(const std::string& key, PerElement::Of of);
  void keep_masters();
  void agree(const std::string& failed) const;
  void update_part(std::vector<Share>& shares, const StorePart& part, std::size_t& window,
                   std::string& failed);
  void update_windows(std::vector<Share>& shares, const StorePart& part, std::size_t& window);
  void update_window(std::vector<Share>& shares, const StateWindow& here);
  void check_same(const std::vector<Share>& shares) const;
  void check_reduced() const;
  void check_loaded() const;
  void check_names() const;

  std::string name_;
  std::shared_ptr<Store> store_;
  Setting general_;
  std::vector<Group> groups_;
  std::vector<Extent> extents_;
  std::vector<StorePart> parts_;
  bool in_place_ = false;                // has the store a place for state?
  bool agrees_ = false;                  // may the place fail on one worker?
  std::vector<StateWindow> windows_;     // then
  std::vector<ElementsPlace> elements_;  // likewise
  std::vector<std::shared_ptr<PerElement>> kept_;
  std::shared_ptr<PerElement> masters_;             // of half values, where they lie in the place
  std::vector<std::shared_ptr<PerElement>> paged_;  // all that lies there
  // Those of a device are right once it is known whether the last step was made.
  mutable std::int64_t steps_ = 0;
  mutable std::vector<std::int64_t> steps_of_;  // of each share, as a state has them
  mutable std::optional<LateValue> made_;       // was the last one?
  at::Tensor finite_;
  std::optional<at::Tensor> found_inf_;
  std::shared_ptr<const Written> written_;
  std::uint64_t checks_ = 0;  // of a device's values that were put off up to the end of the last step
  bool in_part_ = false;      // was its state written in part, and `loaded` not called since?
};

/// @throws Error naming the optimizer and the option unless it is at least 0 and below 1.
void check_fraction(const std::string& optimizer, const char* option, double value);
/// @throws Error likewise unless it is at least 0.
void check_not_negative(const std::string& optimizer, const char* option, double value);
/// @throws Error likewise unless it is above 0.
void check_positive(const std::string& optimizer, const char* option, double value);

}  // namespace riesz
