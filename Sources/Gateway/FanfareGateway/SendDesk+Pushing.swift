internal import FanfareClient
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import NIOConcurrencyHelpers

/// The pushes of jobs, and the requests that equal earlier ones.
extension SendDesk {
    /// How long the push of a job is tried for which no request waits any more.
    private static var unawaitedNs: UInt64 { 60_000_000_000 }

    /// Pushes a job until Redis has it. A push that may have been lost is repeated: the job's id makes that harmless.
    ///
    /// - Parameter isPatient: false for a request that has waited for an equal one of another gateway long enough.
    func push(_ job: Job, id: String, _ prepared: PreparedJob?, isPatient: Bool = true) async {
        var job = job
        let key = job.key
        reading.call()
        // A job whose clients all left is pushed, too: their repeats take it over.
        let lasts = state.withLockedValue { state in
            job.requests.compactMap { state.members[$0.request]?.deadlineNs }.max() ?? nowNs() + Self.unawaitedNs
        }
        var doubt = PushDoubt(untilNs: lasts)
        while !job.requests.isEmpty {
            var isSent = false
            do {
                try await tail.follow(key.project)
                isSent = true
                let conflicts = try await push(job, id, prepared, isPatient)
                if conflicts.isEmpty { return pushed(job, id) }
                job = remove(conflicts, from: job, id: id)
            } catch {
                logger.warning(
                    "A push failed.",
                    metadata: ["project": "\(key.project)", "job": "\(id)", "error": "\(error)"]
                )
                switch doubt.failed(mayBeApplied: isSent && mayBeApplied(error), nowNs: nowNs()) {
                case .again(let pauseMs): try? await Task.sleep(for: .milliseconds(pauseMs))
                case .refused: return end(job, with: .unavailable("Redis did not take the job."))
                case .unknown: return end(job, with: .unknown(job: id))
                }
            }
        }
    }

    private func push(
        _ job: Job,
        _ id: String,
        _ prepared: PreparedJob?,
        _ isPatient: Bool
    ) async throws -> [RequestRecords.Conflict] {
        let project = job.key.project
        let (written, early) = state.withLockedValue { state in
            let written = job.requests.compactMap { request, _ in
                state.ledger.record(of: request).map { (request: request, key: $0.key, record: $0.record) }
            }
            let early = written.filter { $0.record.isOpen && state.ledger.hasUnwritten($0.key) }
            return (written, early)
        }
        if !early.isEmpty { return early.map { RequestRecords.Conflict(request: $0.request, entries: nil) } }
        return try await records.push(
            job.key.job(to: job.recipients, id: id, prepared).fields,
            id: id,
            written,
            project: project,
            isPatient: isPatient
        )
    }

    private func pushed(_ job: Job, _ id: String) {
        let project = job.key.project
        meters.pushed(recipients: job.recipients.count, key: job.key.key)
        state.withLockedValue { state in
            for (request, _) in job.requests {
                state.add(state.ledger.markPushed(request), project: project)
                // What is in Redis is not pushed again.
                state.members[request]?.send.releaseMessage()
            }
        }
        writing.call()
        handle(.pushed(project: project, job: id, nowNs: nowNs()))
        let isRepeated = state.withLockedValue { state in
            job.requests.contains { state.members[$0.request]?.send.earlier != nil }
        }
        if isRepeated {
            let indices = 0..<Int64(job.recipients.count)
            Task { await inquireRepeatedly(WaitingTable.Place(project: project, job: id, indices: indices)) }
        }
    }

    /// Ends all requests of a job of which Redis did not say that it took it.
    private func end(_ job: Job, with end: SendEnd) {
        let members = state.withLockedValue { state in
            job.requests.compactMap { request, _ -> Member? in
                var actions: [WaitingTable.Action] = []
                state.table.handle(.left(request), into: &actions)
                if case .unknown = end {
                    // Its record may be there.
                    state.add(state.ledger.markPushed(request), project: job.key.project)
                } else {
                    state.ledger.forget(request)
                }
                return take(request, &state)
            }
        }
        writing.call()
        for member in members { member.onEnd(end) }
    }

    // MARK: Equal requests

    /// Removes requests that have earlier ones to look at.
    ///
    /// - Returns: the job of the others.
    private func remove(_ conflicts: [RequestRecords.Conflict], from job: Job, id: String) -> Job {
        let removed = Set(conflicts.map(\.request))
        let rest = job.without(removed)
        state.withLockedValue { state in
            var actions: [WaitingTable.Action] = []
            for (request, _) in job.requests { state.table.handle(.left(request), into: &actions) }
            state.enter(rest, id: id)
        }
        for conflict in conflicts {
            Task { await resolve(conflict.request, conflict.entries, in: job.key.project) }
        }
        return rest
    }

    /// Does with a request what its earlier ones demand; see ``EqualRequest``.
    ///
    /// - Parameter known: nil if they are not in Redis yet.
    private func resolve(_ request: UInt64, _ known: [DuplicateRule.Entry]?, in project: String) async {
        guard let (first, recordKey) = unresolved(request) else { return forget(unsent: request) }
        var rule = EqualRequest(
            RequestName(gateway: records.gateway, number: request),
            recipients: first.send.recipients.count,
            deadlineNs: first.deadlineNs,
            nowNs: nowNs()
        )
        var event = await look(recordKey, known)
        while true {
            let member = unresolved(request)?.0
            var action = rule.handle(event, nowNs: nowNs())
            if member == nil { action = rule.left(after: action) }
            switch action {
            case .look(let pauseMs):
                try? await Task.sleep(for: .milliseconds(pauseMs))
                event = await look(recordKey, nil)
            case .remove(let entry):
                do {
                    try await records.remove(entry, from: recordKey)
                    event = await look(recordKey, nil)
                } catch {
                    event = .failed
                }
            case .takeOver(let entry, let place):
                do {
                    event = .took(try await records.takeOver(entry, place, key: recordKey, by: request))
                } catch {
                    event = .failed
                }
            case .send(let isPatient):
                guard let member else { return forget(unsent: request) }
                let job = Self.job(of: request, member.send)
                let id = member.send.id ?? newJobID()
                state.withLockedValue { $0.enter(job, id: id) }
                return await push(job, id: id, member.send.job, isPatient: isPatient)
            case .answer(let answer): return answerAgain(request, answer)
            case .wait(let place): return await wait(request, at: place, in: project)
            case .end(let place):
                guard let member else { return forget(unsent: request) }
                let cause = SendEnd.unavailable("an equal request waits for its answer")
                return end(Self.job(of: request, member.send), with: place.map { .unknown(job: $0.job) } ?? cause)
            case .forget: return forget(unsent: request)
            }
        }
    }

    /// Reads the records of equal requests, and which of their gateways live.
    ///
    /// - Parameter known: the records, if they have just been read.
    private func look(_ recordKey: String, _ known: [DuplicateRule.Entry]?) async -> EqualRequest.Event {
        if state.withLockedValue({ $0.ledger.hasUnwritten(recordKey) }) { return .changing }
        do {
            let entries: [DuplicateRule.Entry]
            if let known { entries = known } else { entries = try await records.entries(of: recordKey) }
            let others = Set(entries.map(\.request.gateway)).subtracting([records.gateway])
            return .records(entries, living: try await records.living(others))
        } catch {
            return .failed
        }
    }

    /// Whether equal requests left something to answer with.
    func isRepeat(of recordKey: String) async -> Bool {
        switch await look(recordKey, nil) {
        case .records(let entries, let living):
            return DuplicateRule.decide(entries, gateway: records.gateway, living: living) != .send
        case .changing: return true
        case .failed, .took: return false
        }
    }

    private func forget(unsent request: UInt64) { state.withLockedValue { $0.ledger.forget(request) } }

    /// A request whose client waits, with the key of its record; nil once the client left.
    private func unresolved(_ request: UInt64) -> (Member, String)? {
        state.withLockedValue { state in
            guard let member = state.members[request], let key = member.send.recordKey else { return nil }
            return (member, key)
        }
    }

    private func answerAgain(_ request: UInt64, _ answer: ServedAnswer) {
        let member = state.withLockedValue { state in
            state.ledger.forget(request)
            return take(request, &state)
        }
        member?.send.tally.markRepeated()
        member?.onEnd(.answered(answer))
    }

    /// Waits for the results of a job that an earlier request pushed.
    private func wait(_ request: UInt64, at place: DuplicateRule.Place, in project: String) async {
        let awaited = WaitingTable.Place(project: project, job: place.job, indices: place.indices)
        state.withLockedValue { state in
            state.ledger.place(request, at: place)
            state.add(state.ledger.markPushed(request), project: project)
            guard let member = state.members[request] else { return }
            member.send.tally.markRepeated()
            var actions: [WaitingTable.Action] = []
            state.table.handle(
                .wait(request, awaited, deadlineNs: member.deadlineNs, isPushed: true),
                into: &actions
            )
        }
        writing.call()
        reading.call()
        try? await tail.follow(project)
        await inquire([awaited])
    }
}
