// SPDX-License-Identifier: Apache-2.0
// cupti_abi.h against NVIDIA's own headers.
#include "collector/inject/cuda/cupti_abi.h"

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>
#include <gtest/gtest.h>

namespace dprof::inject::cupti {
namespace {

// The newest record of each kind that the headers declare.
#if CUPTI_API_VERSION >= 130000
using TheirKernel = CUpti_ActivityKernel10;
using TheirMemcpy = CUpti_ActivityMemcpy6;
#else
using TheirKernel = CUpti_ActivityKernel9;
using TheirMemcpy = CUpti_ActivityMemcpy5;
#endif
using TheirPeer = CUpti_ActivityMemcpyPtoP4;
using TheirMemset = CUpti_ActivityMemset4;
using TheirDevice = CUpti_ActivityDevice5;

#define EXPECT_SAME_FIELD(Ours, our_field, Theirs, their_field)        \
  EXPECT_EQ(offsetof(Ours, our_field), offsetof(Theirs, their_field)); \
  EXPECT_EQ(sizeof(static_cast<Ours*>(nullptr)->our_field),            \
            sizeof(static_cast<Theirs*>(nullptr)->their_field))

#define EXPECT_SAME_START(Ours, our_field, Theirs, their_field) \
  EXPECT_EQ(offsetof(Ours, our_field), offsetof(Theirs, their_field))

TEST(CuptiAbi, Kernel) {
  EXPECT_LE(sizeof(Kernel), sizeof(TheirKernel));
  EXPECT_SAME_FIELD(Kernel, registers_per_thread, TheirKernel, registersPerThread);
  EXPECT_SAME_FIELD(Kernel, start, TheirKernel, start);
  EXPECT_SAME_FIELD(Kernel, end, TheirKernel, end);
  EXPECT_SAME_FIELD(Kernel, device, TheirKernel, deviceId);
  EXPECT_SAME_FIELD(Kernel, stream, TheirKernel, streamId);
  EXPECT_SAME_START(Kernel, grid, TheirKernel, gridX);
  EXPECT_SAME_START(Kernel, block, TheirKernel, blockX);
  EXPECT_SAME_FIELD(Kernel, static_shared_bytes, TheirKernel, staticSharedMemory);
  EXPECT_SAME_FIELD(Kernel, dynamic_shared_bytes, TheirKernel, dynamicSharedMemory);
  EXPECT_SAME_FIELD(Kernel, correlation, TheirKernel, correlationId);
  EXPECT_SAME_FIELD(Kernel, name, TheirKernel, name);
  EXPECT_SAME_FIELD(Kernel, graph_node, TheirKernel, graphNodeId);
  EXPECT_SAME_FIELD(Kernel, graph, TheirKernel, graphId);
}

TEST(CuptiAbi, Copies) {
  EXPECT_LE(sizeof(Memcpy), sizeof(TheirMemcpy));
  EXPECT_SAME_FIELD(Memcpy, copy_kind, TheirMemcpy, copyKind);
  EXPECT_SAME_FIELD(Memcpy, bytes, TheirMemcpy, bytes);
  EXPECT_SAME_FIELD(Memcpy, start, TheirMemcpy, start);
  EXPECT_SAME_FIELD(Memcpy, device, TheirMemcpy, deviceId);
  EXPECT_SAME_FIELD(Memcpy, stream, TheirMemcpy, streamId);
  EXPECT_SAME_FIELD(Memcpy, correlation, TheirMemcpy, correlationId);
  EXPECT_SAME_FIELD(Memcpy, graph_node, TheirMemcpy, graphNodeId);
  EXPECT_SAME_FIELD(Memcpy, graph, TheirMemcpy, graphId);
  EXPECT_LE(sizeof(MemcpyPeer), sizeof(TheirPeer));
  EXPECT_SAME_FIELD(MemcpyPeer, bytes, TheirPeer, bytes);
  EXPECT_SAME_FIELD(MemcpyPeer, stream, TheirPeer, streamId);
  EXPECT_SAME_FIELD(MemcpyPeer, correlation, TheirPeer, correlationId);
  EXPECT_SAME_FIELD(MemcpyPeer, graph_node, TheirPeer, graphNodeId);
  EXPECT_SAME_FIELD(MemcpyPeer, graph, TheirPeer, graphId);
  EXPECT_LE(sizeof(Memset), sizeof(TheirMemset));
  EXPECT_SAME_FIELD(Memset, bytes, TheirMemset, bytes);
  EXPECT_SAME_FIELD(Memset, start, TheirMemset, start);
  EXPECT_SAME_FIELD(Memset, stream, TheirMemset, streamId);
  EXPECT_SAME_FIELD(Memset, correlation, TheirMemset, correlationId);
  EXPECT_SAME_FIELD(Memset, graph_node, TheirMemset, graphNodeId);
  EXPECT_SAME_FIELD(Memset, graph, TheirMemset, graphId);
  EXPECT_EQ(uint32_t(CopyKind::kHostToDevice), CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  EXPECT_EQ(uint32_t(CopyKind::kDeviceToHost), CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  EXPECT_EQ(uint32_t(CopyKind::kDeviceToDevice), CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
  EXPECT_EQ(uint32_t(CopyKind::kHostToHost), CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
  EXPECT_EQ(uint32_t(CopyKind::kPeerToPeer), CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
}

TEST(CuptiAbi, HostRecords) {
  EXPECT_EQ(sizeof(External), sizeof(CUpti_ActivityExternalCorrelation));
  EXPECT_SAME_FIELD(External, external_kind, CUpti_ActivityExternalCorrelation, externalKind);
  EXPECT_SAME_FIELD(External, external, CUpti_ActivityExternalCorrelation, externalId);
  EXPECT_SAME_FIELD(External, correlation, CUpti_ActivityExternalCorrelation, correlationId);
  EXPECT_EQ(sizeof(Api), sizeof(CUpti_ActivityAPI));
  EXPECT_SAME_FIELD(Api, callback_id, CUpti_ActivityAPI, cbid);
  EXPECT_SAME_FIELD(Api, start, CUpti_ActivityAPI, start);
  EXPECT_SAME_FIELD(Api, thread, CUpti_ActivityAPI, threadId);
  EXPECT_SAME_FIELD(Api, correlation, CUpti_ActivityAPI, correlationId);
  EXPECT_SAME_FIELD(Api, result, CUpti_ActivityAPI, returnValue);
  EXPECT_LE(sizeof(Synchronization), sizeof(CUpti_ActivitySynchronization2));
  EXPECT_SAME_FIELD(Synchronization, type, CUpti_ActivitySynchronization2, type);
  EXPECT_SAME_FIELD(Synchronization, start, CUpti_ActivitySynchronization2, start);
  EXPECT_SAME_FIELD(Synchronization, correlation, CUpti_ActivitySynchronization2, correlationId);
  EXPECT_SAME_FIELD(Synchronization, context, CUpti_ActivitySynchronization2, contextId);
  EXPECT_SAME_FIELD(Synchronization, stream, CUpti_ActivitySynchronization2, streamId);
  EXPECT_EQ(uint32_t(SyncType::kEvent), CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
  EXPECT_EQ(uint32_t(SyncType::kStreamWait), CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
  EXPECT_EQ(uint32_t(SyncType::kStream), CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  EXPECT_EQ(uint32_t(SyncType::kContext), CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
  EXPECT_LE(sizeof(Overhead), sizeof(CUpti_ActivityOverhead3));
  EXPECT_SAME_FIELD(Overhead, what, CUpti_ActivityOverhead3, overheadKind);
  EXPECT_SAME_FIELD(Overhead, object_kind, CUpti_ActivityOverhead3, objectKind);
  EXPECT_SAME_FIELD(Overhead, object, CUpti_ActivityOverhead3, objectId);
  EXPECT_SAME_FIELD(Overhead, start, CUpti_ActivityOverhead3, start);
  EXPECT_EQ(kObjectThread, uint32_t{CUPTI_ACTIVITY_OBJECT_THREAD});
  EXPECT_EQ(uint32_t(OverheadKind::kDriverCompiler), CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER);
  EXPECT_EQ(uint32_t(OverheadKind::kBufferFlush), CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
  EXPECT_EQ(uint32_t(OverheadKind::kLazyFunctionLoading),
            CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
  EXPECT_EQ(uint32_t(OverheadKind::kUvmInit), CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT);
}

TEST(CuptiAbi, GraphsAndMetadata) {
  EXPECT_LE(sizeof(GraphTrace), sizeof(CUpti_ActivityGraphTrace2));
  EXPECT_SAME_FIELD(GraphTrace, correlation, CUpti_ActivityGraphTrace2, correlationId);
  EXPECT_SAME_FIELD(GraphTrace, start, CUpti_ActivityGraphTrace2, start);
  EXPECT_SAME_FIELD(GraphTrace, device, CUpti_ActivityGraphTrace2, deviceId);
  EXPECT_SAME_FIELD(GraphTrace, graph, CUpti_ActivityGraphTrace2, graphId);
  EXPECT_SAME_FIELD(GraphTrace, stream, CUpti_ActivityGraphTrace2, streamId);
  EXPECT_LE(sizeof(DeviceInfo), sizeof(TheirDevice));
  EXPECT_SAME_FIELD(DeviceInfo, memory_bytes, TheirDevice, globalMemorySize);
  EXPECT_SAME_FIELD(DeviceInfo, capability_major, TheirDevice, computeCapabilityMajor);
  EXPECT_SAME_FIELD(DeviceInfo, capability_minor, TheirDevice, computeCapabilityMinor);
  EXPECT_SAME_FIELD(DeviceInfo, id, TheirDevice, id);
  EXPECT_SAME_FIELD(DeviceInfo, uuid, TheirDevice, uuid);
  EXPECT_SAME_FIELD(DeviceInfo, name, TheirDevice, name);
  EXPECT_SAME_FIELD(ContextInfo, context, CUpti_ActivityContext3, contextId);
  EXPECT_SAME_FIELD(ContextInfo, device, CUpti_ActivityContext3, deviceId);
  EXPECT_SAME_FIELD(ContextInfo, null_stream, CUpti_ActivityContext3, nullStreamId);
  EXPECT_EQ(sizeof(StreamInfo), sizeof(CUpti_ActivityStream));
  EXPECT_SAME_FIELD(StreamInfo, context, CUpti_ActivityStream, contextId);
  EXPECT_SAME_FIELD(StreamInfo, stream, CUpti_ActivityStream, streamId);
  EXPECT_SAME_FIELD(StreamInfo, flag, CUpti_ActivityStream, flag);
}

TEST(CuptiAbi, Numbers) {
  EXPECT_EQ(kSuccess, uint32_t{CUPTI_SUCCESS});
  EXPECT_EQ(kInvalidParameter, uint32_t{CUPTI_ERROR_INVALID_PARAMETER});
  EXPECT_EQ(kMaxLimitReached, uint32_t{CUPTI_ERROR_MAX_LIMIT_REACHED});
  EXPECT_EQ(kQueueEmpty, uint32_t{CUPTI_ERROR_QUEUE_EMPTY});
  EXPECT_EQ(kInvalidKind, uint32_t{CUPTI_ERROR_INVALID_KIND});
  EXPECT_EQ(kMultipleSubscribers, uint32_t{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED});
  EXPECT_EQ(kUnknown, uint32_t{CUPTI_ERROR_UNKNOWN});
  EXPECT_EQ(uint32_t(ActivityKind::kMemcpy), CUPTI_ACTIVITY_KIND_MEMCPY);
  EXPECT_EQ(uint32_t(ActivityKind::kMemset), CUPTI_ACTIVITY_KIND_MEMSET);
  EXPECT_EQ(uint32_t(ActivityKind::kDriver), CUPTI_ACTIVITY_KIND_DRIVER);
  EXPECT_EQ(uint32_t(ActivityKind::kRuntime), CUPTI_ACTIVITY_KIND_RUNTIME);
  EXPECT_EQ(uint32_t(ActivityKind::kDevice), CUPTI_ACTIVITY_KIND_DEVICE);
  EXPECT_EQ(uint32_t(ActivityKind::kContext), CUPTI_ACTIVITY_KIND_CONTEXT);
  EXPECT_EQ(uint32_t(ActivityKind::kConcurrentKernel), CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(uint32_t(ActivityKind::kOverhead), CUPTI_ACTIVITY_KIND_OVERHEAD);
  EXPECT_EQ(uint32_t(ActivityKind::kMemcpyPeer), CUPTI_ACTIVITY_KIND_MEMCPY2);
  EXPECT_EQ(uint32_t(ActivityKind::kStream), CUPTI_ACTIVITY_KIND_STREAM);
  EXPECT_EQ(uint32_t(ActivityKind::kSynchronization), CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  EXPECT_EQ(uint32_t(ActivityKind::kExternalCorrelation), CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  EXPECT_EQ(uint32_t(ActivityKind::kGraphTrace), CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  EXPECT_EQ(uint32_t(Attribute::kZeroedBuffers), CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
  EXPECT_EQ(kThreadIdSystem, uint32_t{CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM});
  EXPECT_EQ(kFlushForced, uint32_t{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED});
  EXPECT_EQ(kExternalCustom2, uint32_t{CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2});
  EXPECT_EQ(uint32_t(Domain::kDriver), CUPTI_CB_DOMAIN_DRIVER_API);
  EXPECT_EQ(uint32_t(Domain::kRuntime), CUPTI_CB_DOMAIN_RUNTIME_API);
  EXPECT_EQ(kSiteEnter, uint32_t{CUPTI_API_ENTER});
}

TEST(CuptiAbi, Callbacks) {
  EXPECT_EQ(sizeof(CallbackData), sizeof(CUpti_CallbackData));
  EXPECT_SAME_FIELD(CallbackData, parameters, CUpti_CallbackData, functionParams);
  EXPECT_SAME_FIELD(CallbackData, context, CUpti_CallbackData, context);
  EXPECT_SAME_FIELD(CallbackData, correlation, CUpti_CallbackData, correlationId);
  EXPECT_EQ(driver::kEventRecord, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuEventRecord});
  EXPECT_EQ(driver::kEventSynchronize, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize});
  EXPECT_EQ(driver::kStreamWaitEvent, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent});
  EXPECT_EQ(driver::kLaunchKernel, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel});
  EXPECT_EQ(driver::kStreamWaitEventPtsz, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz});
  EXPECT_EQ(driver::kEventRecordPtsz, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz});
  EXPECT_EQ(driver::kLaunchKernelPtsz, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz});
  EXPECT_EQ(driver::kLaunchCooperativeKernel,
            uint32_t{CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel});
  EXPECT_EQ(driver::kLaunchCooperativeKernelPtsz,
            uint32_t{CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz});
  EXPECT_EQ(driver::kGraphLaunch, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch});
  EXPECT_EQ(driver::kGraphLaunchPtsz, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz});
  EXPECT_EQ(driver::kEventRecordWithFlags,
            uint32_t{CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags});
  EXPECT_EQ(driver::kEventRecordWithFlagsPtsz,
            uint32_t{CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags_ptsz});
  EXPECT_EQ(driver::kLaunchKernelEx, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx});
  EXPECT_EQ(driver::kLaunchKernelExPtsz, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz});
}

TEST(CuptiAbi, RuntimeFunctions) {
#define EXPECT_RUNTIME(ours, theirs) \
  EXPECT_EQ(runtime_api::ours, uint32_t{CUPTI_RUNTIME_TRACE_CBID_##theirs})
  EXPECT_RUNTIME(kMemcpy, cudaMemcpy_v3020);
  EXPECT_RUNTIME(kMemcpyAsync, cudaMemcpyAsync_v3020);
  EXPECT_RUNTIME(kMemset, cudaMemset_v3020);
  EXPECT_RUNTIME(kMemsetAsync, cudaMemsetAsync_v3020);
  EXPECT_RUNTIME(kStreamSynchronize, cudaStreamSynchronize_v3020);
  EXPECT_RUNTIME(kEventSynchronize, cudaEventSynchronize_v3020);
  EXPECT_RUNTIME(kMemcpyPeerAsync, cudaMemcpyPeerAsync_v4000);
  EXPECT_RUNTIME(kDeviceSynchronize, cudaDeviceSynchronize_v3020);
  EXPECT_RUNTIME(kLaunchKernel, cudaLaunchKernel_v7000);
  EXPECT_RUNTIME(kLaunchKernelPtsz, cudaLaunchKernel_ptsz_v7000);
  EXPECT_RUNTIME(kMemcpyAsyncPtsz, cudaMemcpyAsync_ptsz_v7000);
  EXPECT_RUNTIME(kMemsetAsyncPtsz, cudaMemsetAsync_ptsz_v7000);
  EXPECT_RUNTIME(kStreamSynchronizePtsz, cudaStreamSynchronize_ptsz_v7000);
  EXPECT_RUNTIME(kLaunchCooperativeKernel, cudaLaunchCooperativeKernel_v9000);
  EXPECT_RUNTIME(kLaunchCooperativeKernelPtsz, cudaLaunchCooperativeKernel_ptsz_v9000);
  EXPECT_RUNTIME(kGraphLaunch, cudaGraphLaunch_v10000);
  EXPECT_RUNTIME(kGraphLaunchPtsz, cudaGraphLaunch_ptsz_v10000);
  EXPECT_RUNTIME(kLaunchKernelExC, cudaLaunchKernelExC_v11060);
  EXPECT_RUNTIME(kLaunchKernelExCPtsz, cudaLaunchKernelExC_ptsz_v11060);
#if CUPTI_API_VERSION >= 130000
  EXPECT_RUNTIME(kLaunchKernel13, __cudaLaunchKernel_v13000);
  EXPECT_RUNTIME(kLaunchKernel13Ptsz, __cudaLaunchKernel_ptsz_v13000);
#endif
}

TEST(CuptiAbi, Subscriber) {
#if CUPTI_API_VERSION >= 130300
  EXPECT_EQ(sizeof(SubscriberParameters), sizeof(CUpti_SubscriberParams));
  EXPECT_SAME_FIELD(SubscriberParameters, allow_others, CUpti_SubscriberParams,
                    allowMultipleSubscribers);
  EXPECT_EQ(uint32_t(Attribute::kAllSyncRecords), CUPTI_ACTIVITY_ATTR_ENABLE_ALL_SYNC_RECORDS);
  EXPECT_EQ(uint32_t(Attribute::kGraphTraceForAll),
            CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE);
  EXPECT_EQ(uint32_t(Attribute::kThreadIdType), CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE);
  EXPECT_EQ(uint32_t(Attribute::kTimestampCallback), CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK);
#elif CUPTI_API_VERSION >= 130000
  EXPECT_EQ(kSubscriberParameters130, sizeof(CUpti_SubscriberParams));
#endif
#if CUPTI_API_VERSION >= 130000
  EXPECT_SAME_FIELD(SubscriberParameters, struct_bytes, CUpti_SubscriberParams, structSize);
  EXPECT_SAME_FIELD(SubscriberParameters, name, CUpti_SubscriberParams, subscriberName);
  EXPECT_SAME_FIELD(SubscriberParameters, other_name, CUpti_SubscriberParams, oldSubscriberName);
  EXPECT_SAME_FIELD(SubscriberParameters, other_name_bytes, CUpti_SubscriberParams,
                    oldSubscriberSize);
  EXPECT_EQ(kSubscriberNameBytes, size_t{CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN});
#endif
}

}  // namespace
}  // namespace dprof::inject::cupti
