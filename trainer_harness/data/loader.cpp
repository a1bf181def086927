// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/data/loader.h"

#include <torch/data.h>

#include <atomic>

namespace dprof::trainer_harness {
namespace {

namespace data = torch::data;
using SharedSampler = std::shared_ptr<data::samplers::DistributedSampler<>>;

// Shares are equally long: the last samples are given twice where they must be.
SharedSampler make_sampler(SamplerKind kind, int64_t size, int shares, int share) {
  const auto samples = static_cast<size_t>(size);
  const auto parts = static_cast<size_t>(shares);
  const auto part = static_cast<size_t>(share);
  switch (kind) {
    case SamplerKind::kRandom:
      return std::make_shared<data::samplers::DistributedRandomSampler>(samples, parts, part);
    case SamplerKind::kSequential:
      return std::make_shared<data::samplers::DistributedSequentialSampler>(samples, parts, part);
    case SamplerKind::kNone:
      break;
  }
  return std::make_shared<data::samplers::DistributedRandomSampler>(samples);
}

// What the loader's own copy of the sampler passes on to: make_data_loader keeps a copy, so that
// set_epoch on one's own would change nothing.
struct Order {
  SharedSampler sampler;
  std::atomic<int64_t> batch_size = 1;
  int64_t requests = 0;
};

class ForwardingSampler : public data::samplers::Sampler<BatchRequest> {
 public:
  ForwardingSampler(std::shared_ptr<Order> order, FaultInjector& faults)
      : order_(std::move(order)), faults_(&faults) {}

  void reset(std::optional<size_t> size = std::nullopt) override { order_->sampler->reset(size); }
  std::optional<BatchRequest> next(size_t) override {
    const int64_t number = order_->requests;
    const double samples = static_cast<double>(order_->batch_size) * faults_->batch_factor(number);
    std::optional<std::vector<size_t>> indices =
        order_->sampler->next(static_cast<size_t>(samples));
    if (!indices) return std::nullopt;
    ++order_->requests;
    return BatchRequest{std::move(*indices), faults_->length_factor(number), number};
  }
  void save(torch::serialize::OutputArchive& archive) const override {
    order_->sampler->save(archive);
  }
  void load(torch::serialize::InputArchive& archive) override { order_->sampler->load(archive); }

 private:
  std::shared_ptr<Order> order_;
  FaultInjector* faults_;
};

class SourceDataset : public data::datasets::BatchDataset<SourceDataset, Batch, BatchRequest> {
 public:
  SourceDataset(std::shared_ptr<const SampleSource> source, FaultInjector& faults)
      : source_(std::move(source)), faults_(&faults) {}

  Batch get_batch(BatchRequest request) override {
    faults_->visit(Place::kInput, request.number);
    return source_->batch(request);
  }
  [[nodiscard]] std::optional<size_t> size() const override {
    return static_cast<size_t>(source_->size());
  }

 private:
  std::shared_ptr<const SampleSource> source_;
  FaultInjector* faults_;
};

}  // namespace

class BatchStream::Impl {
 public:
  using Loader = data::StatelessDataLoader<SourceDataset, ForwardingSampler>;

  Impl(const std::shared_ptr<const SampleSource>& source, const DataOptions& options, int shares,
       int share, int64_t batch_size, FaultInjector& faults)
      : set_epoch(options.set_epoch), order(std::make_shared<Order>()) {
    const int parts = options.sampler == SamplerKind::kNone ? 1 : shares;
    samples = (source->size() + parts - 1) / parts;
    order->sampler = make_sampler(options.sampler, source->size(), parts,
                                  options.sampler == SamplerKind::kNone ? 0 : share);
    order->batch_size = batch_size;
    loader = data::make_data_loader(SourceDataset(source, faults), ForwardingSampler(order, faults),
                                    data::DataLoaderOptions()
                                        .batch_size(static_cast<size_t>(batch_size))
                                        .workers(static_cast<size_t>(options.loader_workers)));
  }

  bool set_epoch;
  int64_t samples = 0;  // of this rank, in an epoch
  std::shared_ptr<Order> order;
  std::unique_ptr<Loader> loader;
  std::optional<data::Iterator<Batch>> batches;
  bool first = true;
};

BatchStream::BatchStream(std::shared_ptr<const SampleSource> source, const DataOptions& options,
                         int shares, int share, int64_t batch_size, FaultInjector& faults)
    : impl_(std::make_unique<Impl>(source, options, shares, share, batch_size, faults)) {}

BatchStream::~BatchStream() = default;

void BatchStream::begin_epoch(int64_t epoch) {
  if (impl_->set_epoch) impl_->order->sampler->set_epoch(static_cast<size_t>(epoch));
  impl_->batches = impl_->loader->begin();  // draws the order; fetches nothing yet
  impl_->first = true;
}

std::optional<Batch> BatchStream::next() {
  data::Iterator<Batch>& batches = *impl_->batches;
  if (!impl_->first) ++batches;  // this fetches; at the start of an epoch, comparing does
  impl_->first = false;
  if (batches == impl_->loader->end()) return std::nullopt;
  return *batches;
}

void BatchStream::set_batch_size(int64_t samples) { impl_->order->batch_size = samples; }

int64_t BatchStream::batches_per_epoch() const {
  const int64_t size = impl_->order->batch_size;
  return (impl_->samples + size - 1) / size;
}

}  // namespace dprof::trainer_harness
