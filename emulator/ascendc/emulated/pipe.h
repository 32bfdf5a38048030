// TPipe, queues and buffers of the unified buffer, events between the units of a core, and what a block knows of
// itself.
#pragma once

#include "tensor.h"

namespace AscendC {

// What queues of all positions share.
class TQueCore {
  public:
    TQueCore() = default;
    TQueCore(const TQueCore&) = delete;

    bool VacantInQue() const { return static_cast<int>(queued_.size()) < depth_; }
    bool HasTensorInQue() const { return !queued_.empty(); }
    int32_t GetTensorCountInQue() const { return static_cast<int32_t>(queued_.size()); }
    bool HasIdleBuffer() const {
        for (emulated::Piece* p : pieces_)
            if (p->state == emulated::Piece::kFree) return true;
        return false;
    }
    void FreeAllEvent() {}

  protected:
    TQueCore(TPosition position, int depth) : position_(position), depth_(depth) {}
    friend class TPipe;

    template <class T>
    LocalTensor<T> alloc() {
        if (pieces_.empty()) emulated::fault("AllocTensor: the queue (", name(), ") was given no buffers: InitBuffer");
        for (emulated::Piece* p : pieces_) {
            if (p->state != emulated::Piece::kFree) continue;
            p->state = emulated::Piece::kTaken;
            return {p, p->generation, 0, static_cast<uint32_t>(p->size / sizeof(T))};
        }
        emulated::fault("queue depth: AllocTensor (", name(), "): all ", pieces_.size(),
                        " buffers are in use, and none was freed");
    }
    template <class T>
    void put(const LocalTensor<T>& tensor) {
        emulated::Piece* p = owned(tensor, "EnQue");
        if (p->state == emulated::Piece::kQueued) emulated::fault("EnQue (", name(), "): the tensor is in the queue");
        if (!VacantInQue())
            emulated::fault("queue depth: EnQue (", name(), "): ", queued_.size(), " tensors are in a queue of depth ",
                            depth_);
        p->state = emulated::Piece::kQueued;
        queued_.push_back(p);
    }
    template <class T>
    LocalTensor<T> take() {
        if (queued_.empty()) emulated::fault("queue depth: DeQue (", name(), "): the queue is empty; this would hang");
        emulated::Piece* p = queued_.front();
        queued_.pop_front();
        p->state = emulated::Piece::kTaken;
        return {p, p->generation, 0, static_cast<uint32_t>(p->size / sizeof(T))};
    }
    template <class T>
    void release(const LocalTensor<T>& tensor) {
        emulated::Piece* p = owned(tensor, "FreeTensor");
        if (p->state == emulated::Piece::kQueued)
            emulated::fault("FreeTensor (", name(), "): the tensor is in the queue: DeQue it first");
        p->state = emulated::Piece::kFree;
        p->generation++;
        std::memset(p->data, 0xff, p->size);
    }

  private:
    const char* name() const { return emulated::position_name(position_); }
    template <class T>
    emulated::Piece* owned(const LocalTensor<T>& tensor, const char* operation) {
        emulated::Piece* p = tensor.piece();
        if (!p) emulated::fault(operation, " (", name(), "): a LocalTensor without memory");
        if (p->owner != this)
            emulated::fault("foreign ", operation, " (", name(), "): the tensor is from ",
                            p->owner ? "another queue" : "a TBuf", ", ", emulated::position_name(p->position));
        if (tensor.stale() || p->state == emulated::Piece::kFree)
            emulated::fault(operation[0] == 'F' ? "double " : "use after FreeTensor: ", operation, " (", name(),
                            ") of a tensor that was freed before");
        return p;
    }

    TPosition position_ = TPosition::GM;
    int depth_ = 0;
    std::deque<emulated::Piece*> pieces_, queued_;
};

template <TPosition kSource, TPosition kDestination, int32_t kDepth, auto kMask = 0>
class TQueBind : public TQueCore {
  public:
    TQueBind() : TQueCore(kSource == TPosition::GM ? kDestination : kSource, kDepth) {}
    template <class T>
    LocalTensor<T> AllocTensor() {
        return alloc<T>();
    }
    template <class T>
    void AllocTensor(LocalTensor<T>& tensor) {
        tensor = alloc<T>();
    }
    template <class T>
    bool EnQue(const LocalTensor<T>& tensor) {
        put(tensor);
        return true;
    }
    template <class T>
    LocalTensor<T> DeQue() {
        return take<T>();
    }
    template <class T>
    void DeQue(LocalTensor<T>& tensor) {
        tensor = take<T>();
    }
    template <class T>
    void FreeTensor(const LocalTensor<T>& tensor) {
        release(tensor);
    }
};

template <TPosition kPosition, int32_t kDepth, auto kMask = 0>
class TQue : public TQueBind<kPosition, kPosition, kDepth, kMask> {};

template <TPosition kPosition = TPosition::VECCALC>
class TBuf {
  public:
    template <class T>
    LocalTensor<T> Get() {
        return GetWithOffset<T>(piece("Get")->size / sizeof(T), 0);
    }
    template <class T>
    LocalTensor<T> Get(uint32_t length) {
        return GetWithOffset<T>(length, 0);
    }
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t length, uint32_t offset) {
        emulated::Piece* p = piece("GetWithOffset");
        if (offset + length * sizeof(T) > p->size)
            emulated::fault("unified buffer overrun: Get of ", length * sizeof(T), " bytes at byte ", offset,
                            " of a TBuf of ", p->size, " bytes");
        return {p, p->generation, offset, length};
    }

  private:
    friend class TPipe;
    emulated::Piece* piece(const char* operation) const {
        if (!piece_) emulated::fault(operation, ": the TBuf was given no memory: InitBuffer");
        return piece_;
    }
    emulated::Piece* piece_ = nullptr;
};

class TPipe {
  public:
    TPipe() { Init(); }
    ~TPipe() { Destroy(); }
    TPipe(const TPipe&) = delete;

    void Init() {
        emulated::core().pipe = this;
        emulated::core().used = 0;
    }
    void Destroy() {
        if (emulated::core().pipe == this) emulated::core().pipe = nullptr;
    }
    void Reset() { emulated::core().used = 0; }
    bool InitBuffer(TQueCore& queue, uint8_t count, uint32_t bytes) {
        for (uint8_t i = 0; i < count; i++)
            queue.pieces_.push_back(emulated::core().cut(bytes, queue.position_, &queue));
        return true;
    }
    template <TPosition kPosition>
    bool InitBuffer(TBuf<kPosition>& buffer, uint32_t bytes) {
        buffer.piece_ = emulated::core().cut(bytes, kPosition, nullptr);
        buffer.piece_->state = emulated::Piece::kTaken;
        return true;
    }
    template <HardEvent kEvent>
    TEventID AllocEventID() {
        uint8_t& taken = emulated::core().events[static_cast<int>(kEvent)];
        TEventID id = free_id(taken);
        taken = static_cast<uint8_t>(taken | 1 << id);
        return id;
    }
    template <HardEvent kEvent>
    void ReleaseEventID(TEventID id) {
        emulated::core().events[static_cast<int>(kEvent)] &= static_cast<uint8_t>(~(1 << id));
    }
    TEventID FetchEventID(HardEvent event) { return free_id(emulated::core().events[static_cast<int>(event)]); }
    template <HardEvent kEvent>
    TEventID FetchEventID() {
        return FetchEventID(kEvent);
    }

  private:
    static TEventID free_id(uint8_t taken) {
        for (int8_t id = 0; id < emulated::kEventIds; id++)
            if (!(taken >> id & 1)) return id;
        emulated::fault("AllocEventID: all ", emulated::kEventIds, " events are in use");
    }
};

inline TPipe* GetTPipePtr() { return static_cast<TPipe*>(emulated::core().pipe); }

// Units run in the order of the program here, so a barrier has nothing to do; flags are counted.
template <pipe_t kPipe>
void PipeBarrier() {}
inline void pipe_barrier(pipe_t) {}

template <HardEvent kEvent>
void SetFlag(int32_t id) {
    int8_t& flag = emulated::core().flags[static_cast<int>(kEvent)][id & 7];
    if (++flag > 1) emulated::fault("SetFlag: event ", id, " is set twice without a WaitFlag between");
}
template <HardEvent kEvent>
void WaitFlag(int32_t id) {
    int8_t& flag = emulated::core().flags[static_cast<int>(kEvent)][id & 7];
    if (!flag) emulated::fault("WaitFlag: event ", id, " was not set; this would hang");
    flag--;
}

inline int64_t GetBlockIdx() { return emulatorCurrentBlock()->index; }
inline int64_t GetBlockNum() { return emulatorCurrentBlock()->count; }
inline int64_t GetSubBlockIdx() { return 0; }
inline int64_t GetSubBlockNum() { return 1; }
inline int64_t GetTaskRation() { return 1; }
inline void SyncAll() { emulatorSyncAll(); }
template <class G, class L>
void SyncAll(const GlobalTensor<G>&, const LocalTensor<L>&, int32_t = 0) {
    emulatorSyncAll();
}

template <class T>
void SetAtomicAdd() {
    emulated::core().atomic = true;
}
inline void SetAtomicNone() { emulated::core().atomic = false; }

template <class... A>
void PRINTF(const char* format, A... arguments) {
    std::printf(format, arguments...);
}
using std::printf;

template <class T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t tag, uint32_t count) {
    std::printf("DumpTensor %u, block %lld:", tag, static_cast<long long>(GetBlockIdx()));
    for (uint32_t i = 0; i < count; i++) std::printf(" %g", static_cast<double>(tensor.GetValue(i)));
    std::printf("\n");
}
template <class T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t tag, uint32_t count) {
    std::printf("DumpTensor %u, block %lld:", tag, static_cast<long long>(GetBlockIdx()));
    for (uint32_t i = 0; i < count; i++) std::printf(" %g", static_cast<double>(tensor.GetValue(i)));
    std::printf("\n");
}

}  // namespace AscendC
