// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/data/loader.h"

#include <torch/data.h>

#include <algorithm>
#include <atomic>

#include "trainer_harness/data/shares.h"

namespace dprof::trainer_harness {
namespace {

namespace data = torch::data;
using SharedSampler = std::shared_ptr<data::samplers::DistributedSampler<>>;

SharedSampler make_sampler(SamplerKind kind, int64_t size, const Share& share) {
  const auto samples = static_cast<size_t>(size);
  const auto parts = static_cast<size_t>(share.parts);
  const auto part = static_cast<size_t>(share.part);
  if (kind == SamplerKind::kSequential) {
    return std::make_shared<data::samplers::DistributedSequentialSampler>(samples, parts, part,
                                                                          share.duplicates);
  }
  return std::make_shared<data::samplers::DistributedRandomSampler>(samples, parts, part,
                                                                    share.duplicates);
}

// Cuts a batch down to its slice; an epoch's last batch can be smaller than `slice.total`. A slice
// of less than one sample becomes one that another rank has too: no rank is without a batch.
void cut(std::vector<size_t>& indices, const BatchSlice& slice) {
  const auto size = static_cast<int64_t>(indices.size());
  const int64_t begin = std::min(slice.begin * size / slice.total, size - 1);
  const int64_t end = std::max((slice.begin + slice.count) * size / slice.total, begin + 1);
  indices.erase(indices.begin() + end, indices.end());
  indices.erase(indices.begin(), indices.begin() + begin);
}

// Makes a batch `factor` times as large by repeating its samples, so that the epoch's other batches
// do not change.
void resize(std::vector<size_t>& indices, double factor) {
  const size_t size = indices.size();
  const auto wanted = static_cast<size_t>(static_cast<double>(size) * factor);
  indices.resize(std::max<size_t>(wanted, 1));
  for (size_t i = size; i < indices.size(); ++i) indices[i] = indices[i - size];
}

// State that the sampler shares with its copy in the loader: make_data_loader copies the sampler,
// so set_epoch on the original would have no effect. Used by the training thread only.
struct Order {
  SharedSampler sampler;
  Share share;
  int64_t batch_size = 1;
  std::optional<BatchSlice> slice;  // of each batch; unset: the whole batch
  int64_t skip = 0;                 // samples to skip at the start of the next epoch
  int64_t left = 0;                 // samples left in the epoch
  int64_t requests = 0;
};

class ForwardingSampler : public data::samplers::Sampler<BatchRequest> {
 public:
  ForwardingSampler(std::shared_ptr<Order> order, FaultPlayer& faults)
      : order_(std::move(order)), faults_(&faults) {}

  void reset(std::optional<size_t> size = std::nullopt) override {
    order_->sampler->reset(size);
    const int64_t skip = std::min(order_->skip, order_->share.samples);
    order_->left = order_->share.samples - skip;
    order_->skip = 0;
    if (const int64_t before = order_->share.begin + skip; before > 0) {
      (void)order_->sampler->next(static_cast<size_t>(before));
    }
  }
  std::optional<BatchRequest> next(size_t) override {
    const int64_t size = std::min(order_->batch_size, order_->left);
    if (size == 0) return std::nullopt;
    std::optional<std::vector<size_t>> indices = order_->sampler->next(static_cast<size_t>(size));
    if (!indices) return std::nullopt;
    order_->left -= size;
    if (order_->slice) cut(*indices, *order_->slice);
    const int64_t number = order_->requests++;
    if (const double factor = faults_->batch_factor(number); factor != 1) resize(*indices, factor);
    return BatchRequest{std::move(*indices), faults_->length_factor(number), number};
  }
  void save(torch::serialize::OutputArchive& archive) const override {
    order_->sampler->save(archive);
  }
  void load(torch::serialize::InputArchive& archive) override { order_->sampler->load(archive); }

 private:
  std::shared_ptr<Order> order_;
  FaultPlayer* faults_;
};

// Copied into each worker.
class SourceDataset : public data::datasets::BatchDataset<SourceDataset, Batch, BatchRequest> {
 public:
  SourceDataset(std::shared_ptr<const SampleSource> source, FaultPlayer& faults,
                std::shared_ptr<std::atomic<int64_t>> made)
      : source_(std::move(source)), faults_(&faults), made_(std::move(made)) {}

  Batch get_batch(BatchRequest request) override {
    faults_->visit(Place::kInput, request.number);
    Batch batch = source_->batch(request);
    ++*made_;
    return batch;
  }
  [[nodiscard]] std::optional<size_t> size() const override {
    return static_cast<size_t>(source_->size());
  }

 private:
  std::shared_ptr<const SampleSource> source_;
  FaultPlayer* faults_;
  std::shared_ptr<std::atomic<int64_t>> made_;
};

}  // namespace

class BatchStream::Impl {
 public:
  using Loader = data::StatelessDataLoader<SourceDataset, ForwardingSampler>;

  Impl(const std::shared_ptr<const SampleSource>& source, const DataOptions& options, int shares,
       int share, int64_t batch_size, FaultPlayer& faults)
      : set_epoch(options.set_epoch),
        order(std::make_shared<Order>()),
        made(std::make_shared<std::atomic<int64_t>>(0)) {
    order->share = share_of(options, source->size(), shares, share);
    order->sampler = make_sampler(options.sampler, source->size(), order->share);
    order->batch_size = batch_size;
    // Batches arrive in sample order for any number of workers.
    loader = data::make_data_loader(SourceDataset(source, faults, made),
                                    ForwardingSampler(order, faults),
                                    data::DataLoaderOptions()
                                        .batch_size(static_cast<size_t>(batch_size))
                                        .workers(static_cast<size_t>(options.loader_workers))
                                        .enforce_ordering(true));
  }

  std::optional<Batch> take() {
    if (!first) ++*batches;  // fetches a batch; an epoch's first one is fetched by the comparison
    first = false;
    if (*batches == loader->end()) return std::nullopt;
    ++taken;
    return **batches;
  }

  // The loader can begin an epoch only when no batch of the previous one is pending.
  void give_up_epoch() {
    if (!batches) return;
    order->left = 0;
    while (taken < order->requests) (void)take();
  }

  bool set_epoch;
  std::shared_ptr<Order> order;
  std::shared_ptr<std::atomic<int64_t>> made;
  std::unique_ptr<Loader> loader;
  std::optional<data::Iterator<Batch>> batches;
  bool first = true;
  int64_t taken = 0;
};

BatchStream::BatchStream(std::shared_ptr<const SampleSource> source, const DataOptions& options,
                         int shares, int share, int64_t batch_size, FaultPlayer& faults)
    : impl_(std::make_unique<Impl>(source, options, shares, share, batch_size, faults)) {}

BatchStream::~BatchStream() = default;

void BatchStream::begin_epoch(int64_t epoch, int64_t skip) {
  impl_->give_up_epoch();
  impl_->order->skip = skip * impl_->order->batch_size;
  if (impl_->set_epoch) impl_->order->sampler->set_epoch(static_cast<size_t>(epoch));
  impl_->batches = impl_->loader->begin();
  impl_->first = true;
}

std::optional<Batch> BatchStream::next() { return impl_->take(); }

void BatchStream::set_batch_size(int64_t samples) { impl_->order->batch_size = samples; }

void BatchStream::set_slice(const BatchSlice& slice) {
  impl_->order->batch_size = slice.total;
  impl_->order->slice = slice;
}

int64_t BatchStream::batches_per_epoch() const {
  const int64_t size = impl_->order->batch_size;
  return (impl_->order->share.samples + size - 1) / size;
}

int64_t BatchStream::ready() const { return *impl_->made - impl_->taken; }

}  // namespace dprof::trainer_harness
