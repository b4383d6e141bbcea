internal import StreamWire

extension ActiveBatch {
    /// Recipients of the batch's next request: 1 unless they share requests. Otherwise all that are left, but no more
    /// than a quarter of the minute's quota.
    func requestSize(quotaPerMinute: Int) -> Int {
        guard case .success(let adapter) = job.adapter else { return 1 }
        let most = adapter.most(job.spec.kind)
        return most > 1 ? min(most, unsentCount, max(1, quotaPerMinute / 4)) : 1
    }
}

/// The demand of a project whose recipients share requests (multicasts). A multicast begins only with all its permits.
struct SharedRequests: Equatable {
    /// Recipients of the next multicast; 0 when there is none.
    var next = 0
    /// Unsent recipients of one-batch jobs that go in multicasts.
    var singles = 0

    /// - Parameter onlyProbe: true if the project is blocked.
    init(of queue: SendQueue, quotaPerMinute: Int, onlyProbe: Bool) {
        func size(_ batch: ActiveBatch) -> Int {
            guard !batch.isFenced, batch.job.abort == nil, batch.isProbe || !onlyProbe else { return 1 }
            return batch.requestSize(quotaPerMinute: quotaPerMinute)
        }
        for batch in queue.singles {
            let size = size(batch)
            guard size > 1 else { continue }
            if next == 0 { next = size }
            singles += batch.unsentCount
        }
        if next == 0 { next = queue.fanouts.lazy.map(size).first { $0 > 1 } ?? 0 }
    }
}
