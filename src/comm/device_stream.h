// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StreamGuard.h>

#include <optional>

namespace riesz {

/// A device's stream in which an operation goes on, whatever thread advances it: that which was current where
/// the operation was begun. None for the CPU.
class DeviceStream {
 public:
  DeviceStream() = default;
  /// The current stream of a device.
  explicit DeviceStream(at::Device device);
  /// The current stream of this process's device; none if it is the default one, with which threads begin.
  static DeviceStream of_this_thread();

  /// Lets the current stream wait for all that is queued in this one.
  void join() const;
  /// The same, and keeps the tensor's memory until the current stream is done with it.
  void join(const at::Tensor& result) const;

  /// Makes it the current stream, with its device, while the scope lives.
  class Scope {
   public:
    explicit Scope(const DeviceStream& in) {
      if (in.stream_) guard_.emplace(*in.stream_);
    }

   private:
    std::optional<c10::StreamGuard> guard_;
  };

 private:
  /// The current stream, if it is another.
  std::optional<c10::Stream> other() const;

  std::optional<c10::Stream> stream_;
};

}  // namespace riesz
