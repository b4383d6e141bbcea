internal import StreamWire

/// Jobs that are ending, whose recipients `claim` gives to be ended without a send.
extension ProjectState {
    /// Claims one batch of each ending job in turn. Nothing of them is sent, so they take no room of other work.
    mutating func claimEnding(_ order: inout Order, limit: Int, _ nowMs: Int64, referee: Referee) {
        var due = Array(ending.prefix(8))
        while !due.isEmpty {
            var unfinished: [Int] = []
            for id in due {
                guard order.claims.count < limit else { return }
                let before = order.claims.count
                claimEnding(of: id, &order, nowMs, referee: referee)
                if order.claims.count > before { unfinished.append(id) }
            }
            due = unfinished
        }
    }

    private mutating func claimEnding(of id: Int, _ order: inout Order, _ nowMs: Int64, referee: Referee) {
        if !jobs[id].orphans.isEmpty {
            _ = claimOrphan(jobs[id].orphans.removeFirst(), &order, nowMs)
        } else if jobs[id].next < jobs[id].total {
            _ = claimFirstPass(id, &order, nowMs, referee: referee)
        } else {
            // The other recipients are held by workers, which end them.
            let waiting = jobs[id].waiting
            let dues = retry.filter { $0.job == id } + jobs[id].held
            var indexes = dues.map(\.index).filter { waiting[$0] != nil }
            indexes = Array(indexes.prefix(batchSize))
            retry.removeAll { $0.job == id && indexes.contains($0.index) }
            jobs[id].held.removeAll { indexes.contains($0.index) }
            if indexes.isEmpty, jobs[id].again {
                jobs[id].again = false
                indexes = [0]
            }
            if !indexes.isEmpty { openRetry(id, indexes, &order, nowMs) }
        }
    }
}
