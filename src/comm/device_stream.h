// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

namespace riesz {

/// A device stream: the stream of a device that was current where some work began. Whatever thread advances
/// the work queues it there. None for the CPU.
class DeviceStream {
 public:
  DeviceStream() = default;
  /// The current stream of a device.
  explicit DeviceStream(at::Device device) {
    if (!device.is_cpu()) stream_ = current_of(device);
  }
  /// The current stream of this process's device; none for the default stream, with which
  /// every thread begins.
  static DeviceStream of_this_thread();

  /// Lets the current stream wait for all that is queued in this one.
  void join() const {
    if (stream_) join_in_current();
  }
  /// Keeps the memory of `result`, which was made in this one, until the current stream is done with it.
  void lend(const at::Tensor& result) const {
    if (stream_) lend_to_current(result);
  }

  /// Makes it the current stream, with its device, while the scope lives.
  class Scope {
   public:
    explicit Scope(const DeviceStream& in) {
      if (in.stream_) guard_ = entered(*in.stream_);
    }

   private:
    static std::shared_ptr<void> entered(const c10::Stream& stream);

    std::shared_ptr<void> guard_;
  };

 private:
  static c10::Stream current_of(at::Device device);
  void join_in_current() const;
  void lend_to_current(const at::Tensor& result) const;
  /// The current stream, if it is another.
  std::optional<c10::Stream> other() const;

  std::optional<c10::Stream> stream_;
};

}  // namespace riesz
